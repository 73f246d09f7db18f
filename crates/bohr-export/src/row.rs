//! One event with everything that is known about it, under names that hold in
//! every run.

use crate::ExportError;
use bohr_event::{MemoryOrder, Operation, Place, PlaceNumber};
use bohr_trace::{Events, Labels, Names, PlaceTable, RegionTable, Table, Trace};
use serde::Serialize;

/// One event. The fields, in this order, are the columns of every export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Position in the run, from 0.
    pub sequence: u64,
    /// Path of the thread, as in `0:2`; its index where the trace does not tell.
    pub thread: String,
    /// Kind of event, as in `acquire-shared`.
    pub kind: String,
    /// Memory order, as in `release`; `plain` for ordinary accesses.
    pub order: &'static str,
    /// Address of what was touched; threads are above 2^63.
    pub object: u64,
    /// The name of that, as in `map+8`.
    pub variable: String,
    /// How many bytes.
    pub size: u32,
    /// Where in the program.
    pub place: String,
    /// What the object held after the event, if it was recorded.
    pub value: Option<u64>,
}

/// The layout of memory and the meaning of places that a trace carries.
pub struct Tables {
    regions: RegionTable,
    places: PlaceTable,
    labels: Labels,
}

impl Tables {
    /// Reads the tables of a trace; later ones of a kind replace earlier ones.
    pub(crate) fn of(trace: &Trace<'_>) -> Result<Tables, ExportError> {
        let mut tables = Tables {
            regions: RegionTable::default(),
            places: PlaceTable::default(),
            labels: Labels::default(),
        };
        for table in trace.tables()? {
            match table {
                Table::Regions(regions) => tables.regions = regions,
                Table::Places(places) => tables.places = places,
                Table::Labels(labels) => tables.labels = labels,
                // No event.
                Table::Pending(_) => {}
            }
        }
        Ok(tables)
    }

    fn place(&self, number: PlaceNumber) -> String {
        if let Some(label) = self.labels.places.get(&number) {
            return label.clone();
        }
        match self.places.0.get(&number) {
            Some(Place::Site(site)) => site.to_string(),
            Some(code) => code.to_string(),
            None => format!("place {:#x}", number.0),
        }
    }
}

/// The rows of a trace, in order.
pub struct Rows<'a> {
    tables: &'a Tables,
    names: Names<'a>,
    events: Events<'a>,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(trace: &'a Trace<'a>, tables: &'a Tables) -> Result<Rows<'a>, ExportError> {
        Ok(Rows {
            tables,
            names: Names::new(&tables.regions, trace.threads()?),
            events: trace.events(),
        })
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, ExportError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (sequence, record) = match self.events.next()? {
            Ok(event) => event,
            Err(error) => return Some(Err(error.into())),
        };
        self.names.observe(sequence, &record);
        let operation = record.operation;
        let label = self.tables.labels.variables.get(&operation.object);
        let variable = label.cloned().unwrap_or_else(|| self.variable(&operation));
        Some(Ok(Row {
            sequence: sequence.0,
            thread: match self.names.thread(record.thread) {
                Some(path) => path.to_string(),
                None => format!("index {}", record.thread.0),
            },
            kind: operation.kind.to_string(),
            order: order(operation.order),
            object: operation.object,
            variable,
            size: operation.size,
            place: self.tables.place(operation.place),
            value: record.value,
        }))
    }
}

impl Rows<'_> {
    /// The name that the events alone give.
    fn variable(&self, operation: &Operation) -> String {
        let variable = self.names.name(operation.object);
        variable.told(&|place| self.tables.place(place))
    }
}

fn order(order: MemoryOrder) -> &'static str {
    match order {
        MemoryOrder::Plain => "plain",
        MemoryOrder::Unordered => "unordered",
        MemoryOrder::Relaxed => "relaxed",
        MemoryOrder::Acquire => "acquire",
        MemoryOrder::Release => "release",
        MemoryOrder::AcquireRelease => "acquire-release",
        MemoryOrder::SequentiallyConsistent => "sequentially-consistent",
    }
}
