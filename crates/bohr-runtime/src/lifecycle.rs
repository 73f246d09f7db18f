//! From the loading of the library to the program's `main`, and to its end.

use crate::{
    addresses, carrier::CarrierOnly, channel::Channel, constructors, control, dispatch, early,
    engine::ENGINE, environment, faults, hooks, interpose::loading, notices, real::real,
    sanitizers, signals::alternate, system, template, thread::Thread, threads, verdict,
};
use bohr_event::{
    EventKind, ThreadPath,
    control::{CONTROL_VERSION, Hello, Notice, Reply},
};
use bohr_fiber::{Body, Fiber, StackRegion};
use core::{cell::Cell, ffi::c_char};

type Main = unsafe extern "C-unwind" fn(i32, *mut *mut c_char, *mut *mut c_char) -> i32;

/// What is known before the program runs.
struct Startup {
    channel: Cell<Option<Channel>>,
    main: Cell<Option<Main>>,
    arguments: Cell<(i32, usize, usize)>,
    fiber: Cell<Option<&'static Fiber>>,
    stack: Cell<(usize, usize)>,
}

static STARTUP: CarrierOnly<Startup> = CarrierOnly::new(Startup {
    channel: Cell::new(None),
    main: Cell::new(None),
    arguments: Cell::new((0, 0, 0)),
    fiber: Cell::new(None),
    stack: Cell::new((0, 0)),
});

/// The loader calls this with the arguments of the program.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(i32, *mut *mut c_char, *mut *mut c_char) = loaded;

extern "C" fn loaded(_: i32, arguments: *mut *mut c_char, variables: *mut *mut c_char) {
    // SAFETY: the loader passes the program's own arrays.
    let Some(name) = (unsafe { environment::control_name(variables) }) else {
        return;
    };
    system::die_with_parent();
    // SAFETY: as above.
    if unsafe { environment::restart_prepared(arguments, variables) }.is_err() {
        notices::note(Notice::RandomAddresses);
    }
    // SAFETY: as above.
    let earlier = unsafe { environment::earlier_channel(variables) };
    let connected = match earlier {
        Some(descriptor) => Channel::adopt(descriptor),
        None => Channel::connect(&name),
    };
    let Ok(channel) = connected else {
        system::say("bohr: the explorer that started this program is gone\n");
        system::exit(2);
    };
    set_panic_hook();
    if earlier.is_none() {
        channel.send(&Reply::Hello(Hello {
            version: CONTROL_VERSION,
            process: system::process_number() as u32,
        }));
    }
    // SAFETY: as above.
    unsafe { constructors::prepare(channel, earlier.is_some(), arguments, variables) };
    // SAFETY: as above.
    if let Some(list) = unsafe { environment::libraries(variables) } {
        loading::take_list(list);
    }
    // SAFETY: as above.
    unsafe { environment::remove_traces(variables) };
    environment::fix_random_bytes();
    STARTUP.channel.set(Some(channel));
    control::expect();
    // Registered first, so called last.
    // SAFETY: the function lives as long as the process.
    unsafe { libc::atexit(at_exit) };
}

/// A panic in the runtime is a bug in bohr and must not unwind into the target.
fn set_panic_hook() {
    std::panic::set_hook(alloc::boxed::Box::new(|info| {
        let message = alloc::format!("{info}");
        if control::is_on() {
            verdict::broken(&message);
        }
        system::say("bohr: ");
        system::say(&message);
        system::say("\n");
        system::exit(2);
    }));
}

/// The C library's start of the program: `main` becomes ours.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __libc_start_main(
    main: Main,
    count: i32,
    arguments: *mut *mut c_char,
    init: usize,
    fini: usize,
    loader_fini: usize,
    stack_end: usize,
) -> i32 {
    let start = real!(
        fn __libc_start_main(
            Main,
            i32,
            *mut *mut c_char,
            usize,
            usize,
            usize,
            usize,
        ) -> i32
    );
    STARTUP.main.set(Some(main));
    let (main, init) = match STARTUP.channel.get() {
        Some(_) => (
            controlled_main as Main,
            constructors::begin().unwrap_or(init),
        ),
        None => (main, init),
    };
    // SAFETY: passes on what the program's entry code passed.
    unsafe { start(main, count, arguments, init, fini, loader_fini, stack_end) }
}

/// Stands in for `main`: moves to a stack at a fixed address and serves.
unsafe extern "C-unwind" fn controlled_main(
    count: i32,
    arguments: *mut *mut c_char,
    variables: *mut *mut c_char,
) -> i32 {
    constructors::end();
    early::await_end();
    // SAFETY: the C library passes the program's own arrays.
    let (arguments, variables) = unsafe { environment::settle(count, arguments, variables) };
    STARTUP.arguments.set((count, arguments, variables));
    faults::install();
    sanitizers::watch();
    hooks::switch(true);
    let body = Body {
        run: main_thread,
        finish: main_finished,
        argument: 0,
    };
    let start = addresses::MAIN_STACK - addresses::STACK_RESERVE;
    let length = environment::stack_limit() + addresses::STACK_RESERVE;
    let started = StackRegion::map_at(start, length).and_then(|region| {
        STARTUP.stack.set((region.start(), region.end()));
        Ok((Fiber::of_carrier()?, Fiber::with_own_stack(region, body)?))
    });
    match started {
        Ok((boot, main)) => {
            let main = alloc::boxed::Box::leak(alloc::boxed::Box::new(main));
            STARTUP.fiber.set(Some(main));
            boot.end_and_switch_to(main)
        }
        Err(error) => {
            system::say("bohr: ");
            system::say(&alloc::format!("{error}\n"));
            system::exit(2)
        }
    }
}

/// The main thread, on its new stack: the template serves below this frame, and
/// every run goes on from here.
extern "C-unwind" fn main_thread(_: usize) {
    if let Some(channel) = STARTUP.channel.get() {
        template::serve(channel);
    }
    let place = STARTUP.main.get().map_or(0, |main| main as usize);
    threads::started(EventKind::Start, threads::entry(place));
    let (count, arguments, variables) = STARTUP.arguments.get();
    let (arguments, variables) = (arguments as *mut _, variables as *mut _);
    if let Some(main) = STARTUP.main.get() {
        // SAFETY: calls the program's constructors and `main` as the C library would.
        let code = unsafe {
            constructors::run_rest(count, arguments, variables);
            main(count, arguments, variables)
        };
        // SAFETY: as returning from `main` does.
        unsafe { libc::exit(code) };
    }
}

/// `main` was left by `pthread_exit`: the others go on.
extern "C" fn main_finished(_: usize, _: bool) -> ! {
    threads::finished(ENGINE.current())
}

/// Whoever stands where the template serves, while it is not running.
pub fn main_fiber() -> Option<&'static Fiber> {
    STARTUP.fiber.get()
}

/// In a run: the main thread takes its place in the table.
pub fn add_main_thread() {
    let thread: &'static Thread = ENGINE.add(ThreadPath::MAIN, 0);
    // SAFETY: asks for the running thread.
    thread.handle.set(unsafe { libc::pthread_self() });
    thread.fiber.set(
        STARTUP
            .fiber
            .get()
            .map_or(core::ptr::null(), core::ptr::from_ref),
    );
    thread.stack.set(STARTUP.stack.get());
    thread.reserve.set(addresses::STACK_RESERVE);
    thread.owner_number.set(threads::owner_number());
    thread.alternate.set(alternate::before_main());
}

/// What the C library does behind the last of the handlers.
fn flush() {
    dispatch::end();
    // SAFETY: flushes all streams; what cannot be written is lost either way.
    unsafe { libc::fflush(core::ptr::null_mut()) };
}

/// The last of the handlers at exit: the run is over.
extern "C" fn at_exit() {
    if control::is_on() {
        threads::ends_process();
        verdict::exited(crate::interpose::exit::code(), flush);
        // What is left is the C library's, down to the call that ends the process.
        dispatch::end();
    }
}
