//! Plots as SVG: axes with round numbers, a legend, a tooltip on every point. Colours come from
//! the page's style, so that light and dark follow the reader.

use std::fmt::Write as _;

use super::data::{Plot, Shape, short, told};

/// So narrow that letters can still be read where a telephone shows all of it.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 46.0;

/// Bars that are narrower bear no number: neighbours would write over each other.
const VALUE_WIDTH_MIN: f64 = 32.0;

/// Colours that the style sheet knows.
const COLOURS: usize = 8;

/// The plot without its title and legend.
pub(super) fn svg(plot: &Plot) -> String {
    let points = || plot.lines.iter().flat_map(|line| &line.points);
    let labelled = plot.lines.iter().map(|line| line.labels.len().saturating_sub(1) as f64);
    let x_max = points().map(|point| point.0).chain(labelled).fold(0.0, f64::max);
    let most = plot.lines.iter().flat_map(|line| &line.ranges).map(|range| range.1);
    let y_max = points().map(|point| point.1).chain(most).fold(0.0, f64::max);
    let widest = plot.lines.iter().flat_map(|line| &line.spans).map(|span| span.1);
    // The last name stands under its place, so half of it is beside.
    let named = plot.x_names.iter().map(|(x, _)| *x * 1.06);
    let x_max = widest.chain(named).fold(x_max, f64::max);
    let y_axis = match plot.multiplies {
        true => {
            let least = plot.lines.iter().flat_map(|line| &line.ranges).map(|range| range.0);
            let all = points().map(|point| point.1).chain(least).filter(|y| *y > 0.0);
            decades(all.fold(f64::INFINITY, f64::min), y_max)
        }
        false => ticks(y_max),
    };
    let y_top = y_axis.last().copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
    let y_base = plot.multiplies.then(|| y_axis.first().copied().unwrap_or(0.1));
    let frame = Frame { x_max, y_top, y_base, bars: plot.shape == Shape::Bars };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" aria-label=\"{}\">",
        escaped(&plot.title)
    );
    for tick in &y_axis {
        let y = frame.y(*tick);
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            y + 4.0,
            short(*tick)
        );
    }
    match plot.shape {
        Shape::Lines => lines(plot, &frame, &mut out),
        Shape::Bars => bars(plot, &frame, &mut out),
    }
    let _ = write!(
        out,
        "<text class=\"axis\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>\
         <text class=\"axis\" transform=\"translate(14 {:.0}) rotate(-90)\" \
         text-anchor=\"middle\">{}</text></svg>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 6.0,
        escaped(&plot.x),
        (TOP + HEIGHT - BOTTOM) / 2.0,
        escaped(&plot.y)
    );
    out
}

/// Class of the colour of line number `at`.
pub(super) fn colour(at: usize) -> String {
    format!("c{}", at % COLOURS)
}

/// Where numbers come to lie.
struct Frame {
    x_max: f64,
    y_top: f64,
    /// Where the y axis begins, if a step up multiplies.
    y_base: Option<f64>,
    bars: bool,
}

impl Frame {
    fn x(&self, x: f64) -> f64 {
        let width = WIDTH - LEFT - RIGHT;
        match self.bars {
            true => LEFT + width * (x + 0.5) / (self.x_max + 1.0),
            false => LEFT + width * x / self.x_max.max(f64::MIN_POSITIVE),
        }
    }

    fn y(&self, y: f64) -> f64 {
        let share = match self.y_base {
            Some(base) => (y.max(base) / base).log10() / (self.y_top / base).log10(),
            None => y / self.y_top,
        };
        TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - share)
    }
}

fn lines(plot: &Plot, frame: &Frame, out: &mut String) {
    let round = || ticks(frame.x_max).into_iter().map(|tick| (tick, short(tick)));
    let x_axis = if plot.x_names.is_empty() { round().collect() } else { plot.x_names.clone() };
    for (tick, text) in x_axis.iter().filter(|(tick, _)| *tick <= frame.x_max * 1.0001) {
        let (x, y) = (frame.x(*tick), HEIGHT - BOTTOM + 18.0);
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
            escaped(text)
        );
    }
    for (at, line) in plot.lines.iter().enumerate() {
        let mut path = String::new();
        for (place, (x, y)) in line.points.iter().enumerate() {
            let letter = if place == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", frame.x(*x), frame.y(*y));
        }
        let class = colour(at);
        let _ = write!(out, "<path class=\"line {class}\" d=\"{path}\"/>");
        let radius = if line.points.len() > 60 { 1.5 } else { 3.0 };
        for (place, (x, y)) in line.points.iter().enumerate() {
            let range = line.ranges.get(place).copied();
            draw_range(frame, frame.x(*x), range, out);
            draw_span(frame, frame.y(*y), line.spans.get(place).copied(), out);
            let at = plot.x_names.iter().find(|(named, _)| named == x);
            let at = at.map_or_else(|| short(*x), |(_, name)| name.clone());
            let _ = write!(
                out,
                "<circle class=\"dot {class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\">\
                 <title>{}: {} at {}</title></circle>",
                frame.x(*x),
                frame.y(*y),
                escaped(&line.name),
                told(*y, range),
                escaped(&at)
            );
        }
    }
}

fn bars(plot: &Plot, frame: &Frame, out: &mut String) {
    let slot = (WIDTH - LEFT - RIGHT) / (frame.x_max + 1.0);
    let width = (slot * 0.8 / plot.lines.len().max(1) as f64).min(64.0);
    let group = width * plot.lines.len() as f64;
    for (at, line) in plot.lines.iter().enumerate() {
        for (place, (x, y)) in line.points.iter().enumerate() {
            let range = line.ranges.get(place).copied();
            let label = line.labels.get(*x as usize).map_or("", String::as_str);
            let left = frame.x(*x) - group / 2.0 + width * at as f64;
            let top = frame.y(*y);
            let _ = write!(
                out,
                "<rect class=\"bar {}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" \
                 height=\"{:.1}\" rx=\"2\"><title>{}, {}: {}</title></rect>",
                colour(at),
                width * 0.92,
                (HEIGHT - BOTTOM - top).max(0.5),
                escaped(&line.name),
                escaped(label),
                told(*y, range)
            );
            if width >= VALUE_WIDTH_MIN {
                let _ = write!(
                    out,
                    "<text class=\"value\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                    left + width / 2.0,
                    range.map_or(top, |(_, most)| frame.y(most)) - 4.0,
                    short(*y)
                );
            }
            draw_range(frame, left + width * 0.46, range, out);
        }
    }
    // A cell without a verdict has its label and no bar.
    let labels = plot.lines.first().map_or(&[][..], |line| &line.labels);
    for (at, label) in labels.iter().enumerate() {
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            frame.x(at as f64),
            HEIGHT - BOTTOM + 18.0,
            escaped(label)
        );
    }
}

/// Draws from the least to the greatest of the runs, with a cap at either end.
fn draw_range(frame: &Frame, x: f64, range: Option<(f64, f64)>, out: &mut String) {
    let Some((least, most)) = range else { return };
    let (low, high, left) = (frame.y(least), frame.y(most), x - 4.0);
    let _ = write!(
        out,
        "<path class=\"range\" \
         d=\"M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}h8M{left:.1} {high:.1}h8\"/>"
    );
}

/// The same from left to right.
fn draw_span(frame: &Frame, y: f64, span: Option<(f64, f64)>, out: &mut String) {
    let Some((least, most)) = span else { return };
    let (from, to, top) = (frame.x(least), frame.x(most), y - 4.0);
    let _ = write!(
        out,
        "<path class=\"range\" \
         d=\"M{from:.1} {y:.1}H{to:.1}M{from:.1} {top:.1}v8M{to:.1} {top:.1}v8\"/>"
    );
}

/// Numbers of which each is some times the one before, from at most `least` to at least `most`.
fn decades(least: f64, most: f64) -> Vec<f64> {
    if !least.is_finite() || most <= 0.0 {
        return vec![0.1, 1.0];
    }
    let (from, to) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    let to = to.max(from + 1);
    // Of few decades the steps between are told too.
    let within: &[f64] = if to - from > 2 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all = (from..to).flat_map(|power| within.iter().map(move |step| step * 10f64.powi(power)));
    all.chain([10f64.powi(to)]).collect()
}

/// Round numbers from 0 to at least `max`.
fn ticks(max: f64) -> Vec<f64> {
    if max <= 0.0 || !max.is_finite() {
        return vec![0.0, 1.0];
    }
    let rough = max / 5.0;
    let magnitude = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    let step = steps.iter().map(|step| step * magnitude).find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * magnitude);
    let count = (max / step).ceil() as usize;
    (0..=count).map(|at| at as f64 * step).collect()
}

/// Text that cannot be mistaken for markup.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_round_and_reach_the_top() {
        assert_eq!(ticks(9.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        for max in [0.003, 1.7, 42.0, 123_456.0, 9e9] {
            let ticks = ticks(max);
            assert!(*ticks.last().unwrap() >= max && ticks.len() <= 7, "{max}: {ticks:?}");
        }
    }

    #[test]
    fn axes_that_multiply_hold_everything() {
        assert_eq!(decades(0.3, 40.0), [0.1, 1.0, 10.0, 100.0]);
        assert_eq!(decades(2.0, 9.0), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(decades(f64::INFINITY, 0.0), [0.1, 1.0]);
    }

    #[test]
    fn numbers_are_short() {
        let texts: Vec<String> = [0.0, 0.25, 1.5, 999.0, 12_500.0, 2e6, 3.25e9].map(short).into();
        assert_eq!(texts, ["0", "0.25", "1.5", "999", "12.5k", "2M", "3.25G"]);
    }
}
