//! Plots as SVG that needs nothing else: rows of dots, and curves. Colours of
//! text and lines follow the page, so that they can be read on light and dark
//! ground.

use std::fmt::Write;

/// One colour per series.
const COLOURS: [&str; 8] = [
    "#4269d0", "#efb118", "#ff725c", "#3ca951", "#a463f2", "#ff8ab7", "#6cc5b0", "#9c6b4e",
];

const LEFT: f64 = 150.0;
const RIGHT: f64 = 30.0;
const WIDTH: f64 = 900.0;
const ROW: f64 = 19.0;
const TOP: f64 = 48.0;

/// The beginning of a page of plots and nothing else.
pub fn page_head(title: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <title>bohr: {title}</title><style>\
         :root {{ color-scheme: light dark; font-family: system-ui, sans-serif; }}\
         body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}\
         text {{ fill: currentColor; font-size: 11px; }} .grid {{ stroke: #8884; }}</style>"
    )
}

/// What lies along a side.
pub struct Axis {
    pub label: String,
    /// Whether equal steps are equal factors.
    pub by_factors: bool,
}

impl Axis {
    pub fn by_factors(label: &str) -> Axis {
        Axis {
            label: label.to_string(),
            by_factors: true,
        }
    }

    pub fn even(label: &str) -> Axis {
        Axis {
            label: label.to_string(),
            by_factors: false,
        }
    }
}

/// One dot of a row.
pub struct Dot {
    /// Which series it belongs to.
    pub series: usize,
    pub value: f64,
    /// From where to where the values around it lie.
    pub spread: Option<(f64, f64)>,
}

/// Dots beside a name.
pub struct Row {
    pub name: String,
    pub dots: Vec<Dot>,
}

/// A line through points.
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// Where values lie between two ends.
struct Ruler {
    by_factors: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Ruler {
    fn new(axis: &Axis, values: impl Iterator<Item = f64>, (from, to): (f64, f64)) -> Ruler {
        let (mut low, mut high) = values
            .filter(|value| value.is_finite() && (!axis.by_factors || *value > 0.0))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        if axis.by_factors {
            low = 10f64.powf(low.log10().floor());
            high = 10f64.powf(high.log10().ceil()).max(low * 10.0);
        } else {
            (low, high) = (low.min(0.0), high.max(1.0));
        }
        Ruler {
            by_factors: axis.by_factors,
            low,
            high,
            from,
            to,
        }
    }

    fn at(&self, value: f64) -> f64 {
        let share = match self.by_factors {
            true => (value.max(self.low) / self.low).log10() / (self.high / self.low).log10(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        match self.by_factors {
            true => {
                let (low, high) = (self.low.log10().round(), self.high.log10().round());
                let powers = (low as i32)..=(high as i32);
                powers
                    .map(|power| (10f64.powi(power), in_words(power)))
                    .collect()
            }
            false => {
                let ticks =
                    (0..=4).map(|part| self.low + (self.high - self.low) * part as f64 / 4.0);
                ticks.map(|value| (value, format!("{value:.2}"))).collect()
            }
        }
    }
}

/// A power of ten as people write it.
fn in_words(power: i32) -> String {
    match power {
        0..=3 => 10u32.pow(power as u32).to_string(),
        4..=5 => format!("{} k", 10u32.pow(power as u32 - 3)),
        6..=8 => format!("{} M", 10u32.pow(power as u32 - 6)),
        -3..=-1 => format!("{:.*}", -power as usize, 10f64.powi(power)),
        _ => format!("1e{power}"),
    }
}

/// What is written into a page as text.
pub fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// Adds to a drawing; writing to a string cannot fail.
macro_rules! draw {
    ($svg:expr, $($words:tt)*) => {
        let _ = write!($svg, $($words)*);
    };
}

fn colour(series: usize) -> &'static str {
    COLOURS[series % COLOURS.len()]
}

fn begin(label: &str, height: f64) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">",
        escaped(label)
    )
}

/// The names of the series in their colours, along the upper edge.
fn legend<'a>(svg: &mut String, names: impl Iterator<Item = &'a str>) {
    let mut x = LEFT;
    for (series, name) in names.enumerate() {
        draw!(
            svg,
            "<circle cx=\"{x}\" cy=\"10\" r=\"5\" fill=\"{}\"/><text x=\"{}\" y=\"14\">{}</text>",
            colour(series),
            x + 9.0,
            escaped(name)
        );
        x += 32.0 + 6.6 * name.chars().count() as f64;
    }
}

/// A row per name, with a dot per series; values from left to right.
pub fn rows(axis: &Axis, series: &[String], rows: &[Row]) -> String {
    let height = TOP + ROW * rows.len() as f64 + 8.0;
    let mut svg = begin(&axis.label, height);
    let dots = || rows.iter().flat_map(|row| &row.dots);
    let ends = dots().flat_map(|dot| {
        let (low, high) = dot.spread.unwrap_or((dot.value, dot.value));
        [low, dot.value, high]
    });
    let ruler = Ruler::new(axis, ends, (LEFT, WIDTH - RIGHT));
    legend(&mut svg, series.iter().map(String::as_str));
    for (value, words) in ruler.ticks() {
        let x = ruler.at(value);
        draw!(
            svg,
            "<line x1=\"{x}\" x2=\"{x}\" y1=\"{}\" y2=\"{height}\" class=\"grid\"/>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{words}</text>",
            TOP - 10.0,
            TOP - 14.0
        );
    }
    for (number, row) in rows.iter().enumerate() {
        let middle = TOP + ROW * (number as f64 + 0.5);
        draw!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LEFT - 12.0,
            middle + 4.0,
            escaped(&row.name)
        );
        for dot in &row.dots {
            one_dot(&mut svg, &ruler, series, dot, middle);
        }
    }
    svg.push_str("</svg>");
    svg
}

/// Series lie a little above each other, so that equal values are all seen.
fn one_dot(svg: &mut String, ruler: &Ruler, series: &[String], dot: &Dot, middle: f64) {
    let shift = dot.series as f64 - (series.len() as f64 - 1.0) / 2.0;
    let y = middle + shift * (ROW - 7.0) / series.len().max(1) as f64;
    let colour = colour(dot.series);
    if let Some((low, high)) = dot.spread {
        draw!(
            svg,
            "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{colour}\" stroke-opacity=\"0.6\"/>",
            ruler.at(low),
            ruler.at(high)
        );
    }
    let name = series.get(dot.series).map_or("", String::as_str);
    draw!(
        svg,
        "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"><title>{}: {}</title></circle>",
        ruler.at(dot.value),
        escaped(name),
        dot.value
    );
}

/// Curves, each through its points from left to right.
pub fn curves(x: &Axis, y: &Axis, curves: &[Curve]) -> String {
    let height = 360.0;
    let bottom = height - 40.0;
    let mut svg = begin(&format!("{} by {}", y.label, x.label), height);
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let across = Ruler::new(x, points().map(|point| point.0), (LEFT, WIDTH - RIGHT));
    let upwards = Ruler::new(y, points().map(|point| point.1), (bottom, TOP));
    legend(&mut svg, curves.iter().map(|curve| curve.name.as_str()));
    for (value, words) in across.ticks() {
        let at = across.at(value);
        draw!(
            svg,
            "<line x1=\"{at}\" x2=\"{at}\" y1=\"{TOP}\" y2=\"{bottom}\" class=\"grid\"/>\
             <text x=\"{at}\" y=\"{}\" text-anchor=\"middle\">{words}</text>",
            bottom + 16.0
        );
    }
    for (value, words) in upwards.ticks() {
        let at = upwards.at(value);
        draw!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at}\" y2=\"{at}\" class=\"grid\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{words}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0
        );
    }
    for (series, curve) in curves.iter().enumerate() {
        let at =
            |point: &(f64, f64)| format!("{:.1},{:.1}", across.at(point.0), upwards.at(point.1));
        let line: Vec<String> = curve.points.iter().map(at).collect();
        draw!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
            line.join(" "),
            colour(series)
        );
    }
    draw!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text><text x=\"0\" y=\"{}\">{}</text></svg>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        height - 6.0,
        escaped(&x.label),
        TOP - 14.0,
        escaped(&y.label)
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruler(by_factors: bool) -> Ruler {
        let axis = Axis {
            label: String::new(),
            by_factors,
        };
        Ruler::new(&axis, [2.0, 900.0].into_iter(), (0.0, 300.0))
    }

    #[test]
    fn equal_factors_are_equally_far() {
        let ruler = ruler(true);
        let at = [1.0, 10.0, 100.0, 1000.0].map(|value| ruler.at(value).round());
        assert_eq!(at, [0.0, 100.0, 200.0, 300.0]);
        let words: Vec<String> = ruler.ticks().into_iter().map(|tick| tick.1).collect();
        assert_eq!(words, ["1", "10", "100", "1000"]);
    }

    #[test]
    fn even_rulers_begin_at_nothing() {
        assert_eq!(ruler(false).at(0.0), 0.0);
        assert_eq!(ruler(false).at(450.0), 150.0);
    }

    #[test]
    fn names_and_values_are_in_the_drawing() {
        let dot = Dot {
            series: 0,
            value: 5.0,
            spread: Some((2.0, 8.0)),
        };
        let row = Row {
            name: "<a>".to_string(),
            dots: vec![dot],
        };
        let svg = rows(&Axis::by_factors("runs"), &["random".to_string()], &[row]);
        for part in ["&lt;a&gt;", "<title>random: 5</title>", ">random</text>"] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        let curve = Curve {
            name: "time".to_string(),
            points: vec![(1.0, 1.0), (10.0, 10.0)],
        };
        let axis = || Axis::by_factors("x");
        let svg = curves(&axis(), &axis(), &[curve]);
        assert!(svg.contains("points=\"150.0,320.0 870.0,48.0\""), "{svg}");
    }
}
