//! How the time of the static step grows with the events of a trace and with the
//! nodes of its graph: graph, first order and proof, without the search behind
//! it, which takes the time that it is given.

use super::generator::generate;
use super::models::{MODELS, Model};
use super::{Measured, measure};
use crate::plot::{Axis, Curve, curves, page_head};
use crate::shell;
use std::time::Duration;

/// Ten million events take at most so many seconds.
const MOST_SECONDS: f64 = 10.0;
const MANY: u64 = 10_000_000;

/// The largest exponent that counts as near-linear.
const STEEPEST: f64 = 1.15;

/// One trace.
struct Point {
    events: f64,
    nodes: f64,
    seconds: f64,
}

/// Prints both tables and draws them; what misses its target.
pub fn run() -> Result<Vec<String>, String> {
    let tsp = MODELS[1];
    println!(
        "growth of a {} trace; targets: {MANY} events in {MOST_SECONDS} s, exponents at most {STEEPEST}\n",
        tsp.name
    );
    let longer = [1, 2, 4, 8, 16].map(|factor| Model {
        events: factor * tsp.events,
        ..tsp
    });
    // Shorter slices and more frequent sections cut the same events into more nodes.
    let denser = [1, 2, 4, 8, 16].map(|factor| Model {
        events: 4 * tsp.events,
        mean_run: (2 * tsp.mean_run / factor).max(2),
        between_sections: (4 * tsp.between_sections / factor).max(2),
        ..tsp
    });
    let mut missed = Vec::new();
    let by_events = points("longer", &longer, &mut missed)?;
    let by_nodes = points("denser", &denser, &mut missed)?;
    let pages = [
        (
            "events",
            by_events,
            (|point: &Point| point.events) as fn(&Point) -> f64,
        ),
        ("graph nodes", by_nodes, |point: &Point| point.nodes),
    ];
    let mut page = page_head("growth of simplification");
    for (name, points, size) in &pages {
        let line: Vec<(f64, f64)> = points.iter().map(|it| (size(it), it.seconds)).collect();
        let exponent = exponent(&line);
        println!("time grows with {name} to the power of {exponent:.2}");
        if exponent > STEEPEST {
            missed.push(format!("{name}: grows to the power of {exponent:.2}"));
        }
        page.push_str(&drawn(name, line, exponent));
    }
    let path = save(&page)?;
    println!("drawn in {path}");
    Ok(missed)
}

/// A plot, with a line of exponent 1 beside it.
fn drawn(name: &str, line: Vec<(f64, f64)>, exponent: f64) -> String {
    let first = line[0];
    let linear = line.iter().map(|&(x, _)| (x, first.1 * x / first.0));
    let curve = |name: &str, points| Curve {
        name: name.to_string(),
        points,
    };
    let curves = curves(
        &Axis::by_factors(name),
        &Axis::by_factors("seconds"),
        &[curve("linear", linear.collect()), curve("measured", line)],
    );
    format!(
        "<h2>Static simplification: time against {name}</h2>{curves}\
         <p>Exponent {exponent:.2}. Measured by <code>cargo xtask bench simplify growth</code> on {}.</p>",
        bohr_museum::machine_facts()
    )
}

fn points(what: &str, models: &[Model], missed: &mut Vec<String>) -> Result<Vec<Point>, String> {
    println!(
        "{:>10} {:>9} {:>9} {:>10} {:>9} {:>6}",
        what, "nodes", "seconds", "ns/event", "us/node", "MB"
    );
    models.iter().map(|model| point(model, missed)).collect()
}

fn point(model: &Model, missed: &mut Vec<String>) -> Result<Point, String> {
    let Measured {
        report,
        seconds,
        megabytes,
    } = measure(&generate(model, 2), Duration::ZERO)?;
    let (events, nodes) = (report.events as f64, report.graph_nodes as f64);
    println!(
        "{events:10} {nodes:9} {seconds:9.3} {:10.0} {:9.2} {megabytes:6}",
        1e9 * seconds / events,
        1e6 * seconds / nodes
    );
    if report.events >= MANY && seconds > MOST_SECONDS {
        missed.push(format!("{events} events take {seconds:.1} s"));
    }
    Ok(Point {
        events,
        nodes,
        seconds,
    })
}

/// The slope of the straight line nearest to the points, both axes by factors.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| logs.iter().map(part).sum::<f64>() / count;
    let (across, up) = (mean(|it| it.0), mean(|it| it.1));
    let both: f64 = logs.iter().map(|it| (it.0 - across) * (it.1 - up)).sum();
    let square: f64 = logs.iter().map(|it| (it.0 - across).powi(2)).sum();
    both / square
}

fn save(page: &str) -> Result<String, String> {
    let folder = shell::root().join("eval/results");
    let path = folder.join("simplify-growth.html");
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&path, page))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let shown = path.strip_prefix(shell::root()).unwrap_or(&path);
    Ok(shown.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_recognised() {
        let square = [(1.0, 3.0), (10.0, 300.0), (100.0, 30_000.0)];
        assert!((exponent(&square) - 2.0).abs() < 1e-9);
    }
}
