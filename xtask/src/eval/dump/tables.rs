//! Tables 1 to 6 of the dump paper, its figures beside ours.

use super::super::measure::Measured;
use super::super::papers::{Column, compared, seconds, whole};
use super::super::tables::Table;
use super::asked::FEW_TRIES;
use super::dependences::Row;
use super::{Programs, asked};
use bohr_museum::Papers;
use serde_json::Value;

/// What one measurement of an exhibit says.
pub fn number(measured: &Measured, measurement: &str, field: &str) -> Option<f64> {
    measured.dumped.get(measurement)?[field].as_f64()
}

/// What production builds cost, in percent of instructions, of exhibits and programs.
pub fn overheads(results: &[Measured], programs: &Programs) -> Vec<f64> {
    let exhibits = { results.iter() }.filter_map(|it| number(it, "length", "overhead"));
    let programs = { programs.overheads.iter() }.filter_map(|(_, told)| told["overhead"].as_f64());
    exhibits.chain(programs).collect()
}

fn found(measured: &Measured, field: &str) -> Option<f64> {
    number(measured, "temporal", field)
}

/// Likewise, aligned by counting.
fn found_by_count(measured: &Measured, field: &str) -> Option<f64> {
    number(measured, "counted", field)
}

/// How many variables are critical.
fn critical(measured: &Measured, measurement: &str) -> Option<String> {
    let critical = measured.dumped.get(measurement)?["critical"].as_array()?;
    Some(critical.len().to_string())
}

/// Tries, or that they were not enough.
fn tries(measured: &Measured, guide: &str) -> Option<String> {
    let told = measured.dumped.get(guide)?;
    let tries = told["tries"].as_u64()?;
    Some(match told["reproduced"].as_bool() {
        Some(true) => tries.to_string(),
        _ => format!("> {tries}"),
    })
}

fn time(measured: &Measured, guide: &str) -> Option<String> {
    let told = number(measured, guide, "seconds")?;
    Some(format!("{told:.1}"))
}

/// One line of progress.
pub fn line(measured: &Measured) -> String {
    if let Some(error) = measured.errors.get("dump") {
        return error.clone();
    }
    let guides = ["temporal", "dependence", "none"].map(|guide| {
        let tries = tries(measured, guide).unwrap_or_default();
        let time = time(measured, guide).unwrap_or_default();
        format!("{guide} {tries} tries, {time} s")
    });
    guides.join("; ")
}

/// All that there is something to say about.
pub fn all(
    papers: &Papers,
    results: &[Measured],
    programs: &Programs,
) -> Result<Vec<Table>, String> {
    Ok(vec![
        asked::table(papers, results, programs).0,
        dependences(papers, results, &programs.dependences),
        subjects(papers, results, programs)?,
        analysis(papers, results)?,
        search(papers, results)?,
        counted(papers, results)?,
        costs(papers, results, programs)?,
    ])
}

/// Table 1, of our own programs: the paper's are not the exhibits.
fn dependences(papers: &Papers, results: &[Measured], programs: &[Row]) -> Table {
    let columns = ["one CD", "aggr. to one", "not aggr.", "loop", "total"];
    let classes = ["one", "aggregated", "not-aggregatable", "loop"];
    let theirs = papers.table("dumps", "1");
    let mut rows: Vec<Vec<String>> = Vec::new();
    for name in theirs.iter().flat_map(|table| table.names()) {
        let cell = |column: &&str| {
            let cell = theirs.and_then(|table| table.cell(name, column));
            cell.map_or("-".into(), ToString::to_string)
        };
        let cells = columns.iter().map(cell);
        rows.push([name.to_string()].into_iter().chain(cells).collect());
    }
    let exhibits = results.iter().filter_map(|measured| {
        let counts = measured.dumped.get("model")?;
        Some((&measured.name, counts))
    });
    let programs = programs.iter().map(|(name, counts)| (name, counts));
    for (name, counts) in programs.chain(exhibits) {
        let of = |class: &str| counts[class].as_f64().unwrap_or_default();
        let total: f64 = classes.iter().map(|class| of(class)).sum();
        let shares = classes.map(|class| format!("{:.2}", 100.0 * of(class) / total.max(1.0)));
        let cells = shares.into_iter().chain([whole(total)]);
        rows.push([name.clone()].into_iter().chain(cells).collect());
    }
    Table {
        title: "Distribution of control dependences, in percent (Table 1)".into(),
        columns: ["program"]
            .into_iter()
            .chain(columns)
            .map(String::from)
            .collect(),
        rows,
        notes: vec![
            "Of theirs statements are counted, of ours blocks that nest in a branch.".into(),
        ],
    }
}

fn subjects(papers: &Papers, results: &[Measured], programs: &Programs) -> Result<Table, String> {
    let columns = [
        Column::new("class", "class", |_| None),
        Column::new("seconds", "time", |it| {
            number(it, "native", "seconds").map(seconds)
        }),
        Column::new("threads", "threads", |it| {
            number(it, "native", "threads").map(whole)
        }),
        Column::new("million instructions", "instructions", |it| {
            number(it, "length", "instructions").map(|count| whole(count / 1e6))
        }),
        Column::new("times as long", "factor", |it| {
            number(it, "length", "factor").map(whole)
        }),
        Column::new("overhead %", "overhead", |it| {
            number(it, "length", "overhead").map(|percent| format!("{percent:.2}"))
        }),
        Column::new("native runs to a core", "runs", |it| {
            number(it, "native", "runs").map(whole)
        }),
    ];
    let mut table = compared(papers, ("dumps", "2"), &columns, results)?;
    table.notes.push(
        "Ours: instructions of the work that precedes the exhibit, by callgrind, and how many \
         times as long the program is for it; the overhead is that of the production build, in \
         instructions, over clang with the same flags."
            .into(),
    );
    let programs = programs.overheads.iter().filter_map(|(name, told)| {
        let (percent, count) = (told["overhead"].as_f64()?, told["instructions"].as_f64()?);
        Some(format!(
            "{name} {percent:.2} % of {:.0} million instructions",
            count / 1e6
        ))
    });
    let programs: Vec<String> = programs.collect();
    if !programs.is_empty() {
        let note = format!("The same of real programs: {}.", programs.join("; "));
        table.notes.push(note);
    }
    Ok(table)
}

fn analysis(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let columns = [
        Column::new("failing dump", "failing dump", |it| {
            number(it, "native", "bytes").map(|bytes| format!("{:.1} MB", bytes / 1e6))
        }),
        Column::new("passing dump", "passing dump", |it| {
            number(it, "temporal", "state_bytes").map(|bytes| format!("{:.1} MB", bytes / 1e6))
        }),
        Column::counted("variables", "variables", found, "variables"),
        Column::counted("different", "different", found, "differences"),
        Column::counted("shared", "shared", found, "shared"),
        Column::new("critical", "critical", |it| critical(it, "temporal")),
        Column::counted("index length", "index length", found, "index_length"),
        Column::new("alignment", "alignment", |it| {
            let told: &Value = it.dumped.get("temporal")?;
            Some(told["alignment"].as_str()?.to_string())
        }),
    ];
    compared(papers, ("dumps", "3"), &columns, results)
}

fn search(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let columns = [
        Column::new("CHESS tries", "chess tries", |it| tries(it, "none")),
        Column::new("CHESS seconds", "chess time", |it| time(it, "none")),
        Column::new("dependence tries", "dependence tries", |it| {
            tries(it, "dependence")
        }),
        Column::new("dependence seconds", "dependence time", |it| {
            time(it, "dependence")
        }),
        Column::new("temporal tries", "temporal tries", |it| {
            tries(it, "temporal")
        }),
        Column::new("temporal seconds", "temporal time", |it| {
            time(it, "temporal")
        }),
    ];
    let mut table = compared(papers, ("dumps", "4"), &columns, results)?;
    let of = |guide: &'static str| {
        let all = results
            .iter()
            .filter_map(move |it| number(it, guide, "tries"));
        all.sum::<f64>()
    };
    let few = results.iter().filter(|it| {
        let told = it.dumped.get("temporal");
        told.is_some_and(|told| {
            told["reproduced"] == true && told["tries"].as_u64() <= Some(FEW_TRIES)
        })
    });
    table.notes.push(format!(
        "`>` marks a search that was cut off: its tries are a lower bound. Guided by time, {} of \
         {} are reproduced within {FEW_TRIES} tries; plain CHESS made {:.1} times as many tries in all. \
         Seconds are those of the whole command.",
        few.count(),
        results.len(),
        of("none") / of("temporal").max(1.0)
    ));
    Ok(table)
}

fn counted(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let columns = [
        Column::new("million blocks", "instructions", |it| {
            found_by_count(it, "blocks").map(|blocks| format!("{:.1}", blocks / 1e6))
        }),
        Column::counted("variables", "variables", found_by_count, "variables"),
        Column::counted("different", "different", found_by_count, "differences"),
        Column::counted("shared", "shared", found_by_count, "shared"),
        Column::new("critical", "critical", |it| critical(it, "counted")),
        Column::new("alignment", "alignment", |it| {
            let told = it.dumped.get("counted")?;
            Some(told["alignment"].as_str()?.to_string())
        }),
        Column::new("tries", "tries", |it| tries(it, "counted")),
        Column::new("seconds", "time", |it| time(it, "counted")),
    ];
    let mut table = compared(papers, ("dumps", "5"), &columns, results)?;
    table.notes.push(
        "Theirs counts the instructions of the thread that failed, ours the blocks that it has \
         begun, in a build of its own (`--production=count`) that leaves a core of its own. `>` \
         marks a search that was cut off."
            .into(),
    );
    Ok(table)
}

fn costs(papers: &Papers, results: &[Measured], programs: &Programs) -> Result<Table, String> {
    let columns = [
        Column::new("parsing", "core dump parsing time", |it| {
            number(it, "temporal", "seconds_read").map(seconds)
        }),
        Column::new("comparing", "diff time", |it| {
            number(it, "temporal", "seconds_diff").map(seconds)
        }),
        Column::new("slicing", "slicing time", |it| {
            number(it, "dependence", "seconds_slice").map(seconds)
        }),
    ];
    let mut table = compared(papers, ("dumps", "6"), &columns, results)?;
    table.notes.push(
        "Seconds. A slice looks at no more than the last 200,000 events before the aligned point."
            .into(),
    );
    if let Some(told) = &programs.reading {
        let of = |field: &str| told[field].as_f64().unwrap_or_default();
        table.notes.push(format!(
            "Reading a core of {:.0} MB by itself takes {:.2} s and {:.0} MB of memory.",
            of("bytes") / 1e6,
            of("seconds"),
            of("peak_bytes") / 1e6
        ));
    }
    Ok(table)
}
