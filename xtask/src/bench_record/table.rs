//! The figures beside the paper's, and what they miss.

use super::Measured;
use bohr_museum::Papers;

/// Bytes per branch at most.
const MOST_BYTES: f64 = 0.2;

/// Runs of fewer seconds are mostly loading: no ratio of them says anything.
const SHORTEST: f64 = 0.1;

/// Logs of fewer branches are mostly the last word of every thread.
const FEWEST: f64 = 10_000.0;

impl Measured {
    fn bytes_per_branch(&self) -> f64 {
        self.path.bytes / self.branches.max(1.0)
    }

    /// How many times as long a recorded run takes, if that says anything.
    fn times(&self, seconds: f64) -> Option<f64> {
        (self.native >= SHORTEST).then(|| seconds / self.native)
    }
}

pub fn print_head() {
    println!(
        "{:18} {:>9} {:>15} {:>15} {:>12} {:>12} {:>12} {:>8}   paper: LEAP and CLAP, overhead and space",
        "", "native s", "order s", "path s", "order bytes", "path bytes", "branches", "bytes/br"
    );
}

pub fn print(papers: &Papers, measured: &Measured) {
    let with_times = |seconds: f64| match measured.times(seconds) {
        Some(times) => format!("{seconds:.2} {times:6.2}x"),
        None => format!("{seconds:.2}       -"),
    };
    println!(
        "{:18} {:9.2} {:>15} {:>15} {:12} {:12} {:12} {:8.3}   {}",
        measured.subject.name,
        measured.native,
        with_times(measured.order.seconds),
        with_times(measured.path.seconds),
        measured.order.bytes,
        measured.path.bytes,
        measured.branches,
        measured.bytes_per_branch(),
        theirs(papers, measured.subject.row.as_deref()),
    );
}

fn theirs(papers: &Papers, row: Option<&str>) -> String {
    let table = papers.table("clap", "2");
    let cell = |column: &str| {
        let cell = table.and_then(|table| table.cell(row?, column));
        cell.map_or("-".to_string(), ToString::to_string)
    };
    let percent = |column: &str| match cell(column).as_str() {
        "-" => "-".to_string(),
        number => format!("+{number} %"),
    };
    format!(
        "{} and {}, {} and {}",
        percent("LEAP overhead %"),
        percent("CLAP overhead %"),
        cell("LEAP space"),
        cell("CLAP space")
    )
}

pub fn print_notes(papers: &Papers) {
    println!(
        "\ntargets: path log at most 1.1 times native on pbzip2 and 1.5 times elsewhere, at most {MOST_BYTES} bytes a branch where there are {FEWEST} of them, below the order log in both"
    );
    if let Some(paper) = papers.paper("clap") {
        println!(
            "theirs: {} ({}), {}",
            paper.title, paper.venue, paper.machine
        );
    }
}

/// The targets that a subject misses.
pub fn missed(measured: &Measured) -> Vec<String> {
    let name = &measured.subject.name;
    let mut missed = Vec::new();
    let times = measured.times(measured.path.seconds);
    let most = measured.subject.most_times;
    if let Some((times, most)) = times.zip(most).filter(|(times, most)| times > most) {
        missed.push(format!("{name}: {times:.2} times native, at most {most}"));
    }
    let bytes = measured.bytes_per_branch();
    if measured.branches >= FEWEST && bytes > MOST_BYTES {
        missed.push(format!("{name}: {bytes:.3} bytes a branch"));
    }
    if measured.path.bytes >= measured.order.bytes {
        missed.push(format!("{name}: the path log is larger than the order log"));
    }
    let slower = measured.path.seconds > measured.order.seconds;
    if times.is_some() && slower {
        missed.push(format!("{name}: the path log is slower than the order log"));
    }
    missed
}
