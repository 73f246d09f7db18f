//! The parts of the address space that places are told by: loaded code, and the
//! sites of instrumented modules.

use crate::{carrier::CarrierOnly, system};
use alloc::{string::String, vec::Vec};
use bohr_event::{
    MemoryOrder, PlaceNumber,
    abi::{Module, SiteInfo},
    control::LoadedObject,
};
use core::cell::{Cell, RefCell};

/// The list whose positions are the object numbers of places.
pub struct Objects {
    list: RefCell<Vec<LoadedObject>>,
    /// Address ranges of the code objects with their numbers, ascending.
    ranges: RefCell<Vec<Range>>,
    /// The range of the last hit: calls come from few places.
    last: Cell<Range>,
    modules: RefCell<Vec<Sites>>,
}

#[derive(Clone, Copy, Default)]
struct Range {
    start: u64,
    end: u64,
    object: u16,
}

/// The sites of one module, numbered on from those of the modules before.
#[derive(Clone, Copy)]
struct Sites {
    base: u32,
    count: u32,
    table: *const SiteInfo,
    object: u16,
    module: *const Module,
}

/// The objects of this process.
#[unsafe(link_section = "bohr_hot")]
pub static OBJECTS: CarrierOnly<Objects> = CarrierOnly::new(Objects {
    list: RefCell::new(Vec::new()),
    ranges: RefCell::new(Vec::new()),
    last: Cell::new(Range {
        start: 0,
        end: 0,
        object: 0,
    }),
    modules: RefCell::new(Vec::new()),
});

/// Object number of places that lie in no known object.
const UNKNOWN: u16 = u16::MAX;

/// Raw places in here are site numbers, all others code addresses: programs that
/// are not position-independent have their code below, everything else is loaded
/// above. 0 stands for "nowhere yet".
const SITE_NUMBERS: core::ops::Range<u64> = 1 << 31..1 << 32;

/// Whether a raw place is a site of an instrumented module.
pub fn is_site(raw: u64) -> bool {
    SITE_NUMBERS.contains(&raw)
}

impl Objects {
    /// Everything loaded so far, by number.
    pub fn list(&self) -> Vec<LoadedObject> {
        self.list.borrow().clone()
    }

    /// The place of a site number or code address.
    pub fn place(&self, raw: u64) -> PlaceNumber {
        if is_site(raw) {
            return self.site_place(raw as u32);
        }
        if raw == 0 {
            // Nowhere yet: to look for it among all that is loaded takes long.
            return PlaceNumber::new(UNKNOWN, 0);
        }
        let last = self.last.get();
        if (last.start..last.end).contains(&raw) {
            return PlaceNumber::new(last.object, raw - last.start);
        }
        match self.range_of(raw).or_else(|| {
            self.refresh();
            self.range_of(raw)
        }) {
            Some(range) => {
                self.last.set(range);
                PlaceNumber::new(range.object, raw - range.start)
            }
            None => PlaceNumber::new(UNKNOWN, raw),
        }
    }

    fn range_of(&self, address: u64) -> Option<Range> {
        let ranges = self.ranges.borrow();
        let position = ranges.partition_point(|range| range.end <= address);
        ranges
            .get(position)
            .filter(|range| range.start <= address)
            .copied()
    }

    fn site_place(&self, number: u32) -> PlaceNumber {
        match self.sites_of(number) {
            Some(sites) => PlaceNumber::new(sites.object, u64::from(number - sites.base)),
            None => PlaceNumber::new(UNKNOWN, u64::from(number)),
        }
    }

    fn sites_of(&self, number: u32) -> Option<Sites> {
        let modules = self.modules.borrow();
        modules
            .iter()
            .find(|sites| number.wrapping_sub(sites.base) < sites.count)
            .copied()
    }

    /// What the module's table says about a site: kind, order, size.
    pub fn site(&self, number: u32) -> Option<(bohr_event::EventKind, MemoryOrder, u16)> {
        let sites = self
            .sites_of(number)
            .filter(|sites| !sites.table.is_null())?;
        // SAFETY: a registered module's table has `count` entries as long as it is loaded.
        let info = unsafe { *sites.table.add((number - sites.base) as usize) };
        Some((info.kind()?, info.order()?, info.size()))
    }

    /// Takes in a module; gives the base of its site numbers.
    pub fn add_module(&self, module: &Module) -> u32 {
        let mut modules = self.modules.borrow_mut();
        let first = SITE_NUMBERS.start as u32;
        let base = modules.last().map_or(first, |last| last.base + last.count);
        let mut list = self.list.borrow_mut();
        modules.push(Sites {
            base,
            count: module.site_count,
            table: module.sites,
            object: list.len() as u16,
            module,
        });
        list.push(LoadedObject::Sites {
            program: module.program,
            count: module.site_count,
        });
        base
    }

    /// Forgets the addresses of a module that is being unloaded; its places stay.
    pub fn remove_module(&self, module: *const Module) {
        for sites in self.modules.borrow_mut().iter_mut() {
            if core::ptr::eq(sites.module, module) {
                sites.module = core::ptr::null();
                // Its site numbers are not given again.
                sites.table = core::ptr::null();
            }
        }
    }

    /// The base of a module's site numbers.
    pub fn base(&self, module: &Module) -> Option<u32> {
        let modules = self.modules.borrow();
        let mut loaded = modules.iter();
        let sites = loaded.find(|sites| core::ptr::eq(sites.module, module));
        sites.map(|sites| sites.base)
    }

    /// The modules that are loaded now.
    pub fn each_module(&self, mut action: impl FnMut(*const Module)) {
        for sites in self.modules.borrow().iter() {
            if !sites.module.is_null() {
                action(sites.module);
            }
        }
    }

    /// Adds the code objects that have been loaded since.
    pub fn refresh(&self) {
        let mut found: Vec<LoadedObject> = Vec::new();
        // SAFETY: the callback gets the vector that it is called with.
        unsafe {
            libc::dl_iterate_phdr(Some(note_object), (&raw mut found).cast());
        }
        let mut list = self.list.borrow_mut();
        let mut ranges = self.ranges.borrow_mut();
        for object in found {
            let LoadedObject::Code { start, end, .. } = object else {
                continue;
            };
            if ranges.iter().any(|range| range.start == start) {
                continue;
            }
            ranges.retain(|range| range.end <= start || range.start >= end);
            ranges.push(Range {
                start,
                end,
                object: list.len() as u16,
            });
            list.push(object);
        }
        ranges.sort_unstable_by_key(|range| range.start);
    }

    /// Where the runtime itself is loaded: start and end.
    pub fn runtime_range(&self) -> (u64, u64) {
        let own = self.range_of(OBJECTS_ANCHOR as *const () as u64);
        own.map_or((0, 0), |range| (range.start, range.end))
    }

    /// Whether the address is in the runtime's own code.
    pub fn is_runtime(&self, address: u64) -> bool {
        let (start, end) = self.runtime_range();
        (start..end).contains(&address)
    }
}

/// Some address in the runtime's code.
const OBJECTS_ANCHOR: fn() = || ();

/// Called by the loader for each object: notes its path and extent.
unsafe extern "C" fn note_object(
    info: *mut libc::dl_phdr_info,
    _: libc::size_t,
    found: *mut libc::c_void,
) -> i32 {
    // SAFETY: the loader passes a valid description, and `refresh` its vector.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<LoadedObject>>()) };
    // SAFETY: the description's table has `dlpi_phnum` entries.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let loads = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD);
    let end = loads.map(|header| header.p_vaddr + header.p_memsz).max();
    // SAFETY: the name is null or a C string.
    let name = unsafe { system::text(info.dlpi_name) };
    let path = match name.to_string_lossy() {
        name if name.is_empty() && found.is_empty() => program_path(),
        name => name.into_owned(),
    };
    if let Some(end) = end {
        found.push(LoadedObject::Code {
            path,
            start: load_address(info.dlpi_addr, headers),
            end: info.dlpi_addr + end,
        });
    }
    0
}

/// Lowest mapped address: for executables at fixed addresses the loader's
/// difference is 0, and offsets are told from where the file begins in memory.
fn load_address(difference: u64, headers: &[libc::Elf64_Phdr]) -> u64 {
    let loads = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD);
    let lowest = loads.map(|header| header.p_vaddr).min().unwrap_or(0);
    difference + (lowest & !4095)
}

/// The program's file.
fn program_path() -> String {
    let mut buffer = alloc::vec![0u8; 4096];
    let arguments = [
        libc::AT_FDCWD as usize,
        c"/proc/self/exe".as_ptr() as usize,
        buffer.as_mut_ptr() as usize,
        buffer.len(),
        0,
        0,
    ];
    // SAFETY: writes at most the length of the buffer into it.
    let length = unsafe { system::try_call(libc::SYS_readlinkat, arguments) }.unwrap_or(0);
    buffer.truncate(length);
    String::from_utf8_lossy(&buffer).into_owned()
}
