//! Drawing: axes, series, and what they are called.

use super::Look;
use super::axis::{Scale, times};
use super::canvas::{CHARACTER, Canvas, Color};
use super::collected::{Answered, Collected};
use crate::lang::Request;

/// Colours of series, over and over.
const COLORS: [u32; 8] = [
    0x1f_77_b4, 0xd6_27_28, 0x2c_a0_2c, 0xff_7f_0e, 0x94_67_bd, 0x8c_56_4b, 0xe3_77_c2, 0x17_be_cf,
];

/// Room for the numbers beside an axis, in pixels.
const SIDE: i32 = 70;
/// Room above, and below, in pixels.
const HEAD: i32 = 30;
const FOOT: i32 = 24;
/// Pixels between two ticks of the axis of time.
const TIME_TICK: i32 = 80;
/// Series that are named; more would hide the picture.
const NAMES_MAX: usize = 20;

/// Where series are drawn.
struct Area {
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

/// A series, its axis and its colour.
struct Curve<'a> {
    series: &'a Answered,
    is_right: bool,
    color: Color,
}

pub(super) fn draw(look: &Look, request: &Request, collected: &Collected) -> Canvas {
    let mut canvas = Canvas::new(look.width, look.height, look.background);
    let curves = curves(look, collected);
    let has_right = curves.iter().any(|curve| curve.is_right);
    let area = Area {
        left: SIDE,
        right: look.width as i32 - if has_right { SIDE } else { 16 },
        top: HEAD,
        bottom: look.height as i32 - FOOT,
    };
    // A picture of one instant has some width all the same.
    let end_ms = request.end_ms.max(request.start_ms.saturating_add(1));
    let time = Scale {
        low: request.start_ms as f64,
        high: end_ms as f64,
        start: f64::from(area.left),
        end: f64::from(area.right),
        is_log: false,
    };
    draw_frame(&mut canvas, look, &area);
    draw_times(&mut canvas, look, request, &area, &time);
    for (axis, is_right) in look.axes.iter().zip([false, true]) {
        let own = curves.iter().filter(|curve| curve.is_right == is_right);
        let points = own.clone().flat_map(|curve| &curve.series.points);
        let inside = points.filter(|(time_ms, _)| (request.start_ms..=end_ms).contains(time_ms));
        let values = inside.map(|(_, number)| *number);
        let scale = axis.scale(values, f64::from(area.bottom), f64::from(area.top));
        if is_right && !has_right {
            continue;
        }
        draw_axis(&mut canvas, look, &area, &scale, is_right);
        own.for_each(|curve| draw_curve(&mut canvas, look, &area, [&time, &scale], curve));
    }
    draw_key(&mut canvas, look, &area, &curves);
    canvas
}

fn curves<'a>(look: &Look, collected: &'a Collected) -> Vec<Curve<'a>> {
    let mut colors = COLORS.iter().cycle();
    let mut curves = Vec::new();
    for (question, answers) in collected.answers.iter().enumerate() {
        let is_right = look.is_right.get(question).copied().unwrap_or(false);
        for series in answers {
            let color = colors.next().copied().map_or(look.foreground, Color::new);
            curves.push(Curve { series, is_right, color });
        }
    }
    curves
}

fn draw_frame(canvas: &mut Canvas, look: &Look, area: &Area) {
    let Area { left, right, top, bottom } = *area;
    let corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
    for pair in corners.windows(2) {
        if let [from, to] = pair {
            canvas.line(*from, *to, look.foreground);
        }
    }
    let middle = (left + right - look.title.chars().count() as i32 * CHARACTER.0) / 2;
    canvas.text(&look.title, (middle.max(0), 4), look.foreground);
    let [y, y2] = &look.axes;
    canvas.text(&y.label, (4, top - CHARACTER.1 - 4), look.foreground);
    let width = y2.label.chars().count() as i32 * CHARACTER.0;
    canvas.text(&y2.label, (look.width as i32 - width - 4, top - CHARACTER.1 - 4), look.foreground);
}

fn draw_times(canvas: &mut Canvas, look: &Look, request: &Request, area: &Area, time: &Scale) {
    let count = i64::from((area.right - area.left) / TIME_TICK);
    let grid = look.foreground.between(look.background).between(look.background);
    for (time_ms, text) in times(request.start_ms, request.end_ms, count, &request.time_zone()) {
        let Some(x) = time.place(time_ms as f64).map(|x| x.round() as i32) else { continue };
        if x > area.left && x < area.right {
            canvas.line((x, area.top + 1), (x, area.bottom - 1), grid);
        }
        let start = x - text.len() as i32 * CHARACTER.0 / 2;
        canvas.text(&text, (start, area.bottom + 6), look.foreground);
    }
}

fn draw_axis(canvas: &mut Canvas, look: &Look, area: &Area, scale: &Scale, is_right: bool) {
    let grid = look.foreground.between(look.background).between(look.background);
    for (y, text) in scale.ticks() {
        let y = y.round() as i32;
        // The axis on the right has its own ticks, but no grid that crosses the other's.
        if !is_right && y > area.top && y < area.bottom {
            canvas.line((area.left + 1, y), (area.right - 1, y), grid);
        }
        let x = match is_right {
            true => area.right + 4,
            false => area.left - 4 - text.len() as i32 * CHARACTER.0,
        };
        canvas.text(&text, (x, y - CHARACTER.1 / 2), look.foreground);
    }
}

fn draw_curve(
    canvas: &mut Canvas,
    look: &Look,
    area: &Area,
    [time, scale]: [&Scale; 2],
    curve: &Curve<'_>,
) {
    let place =
        |&(time_ms, number): &(i64, f64)| Some((time.place(time_ms as f64)?, scale.place(number)?));
    // A single point would be no line.
    let has_points = look.has_points || curve.series.points.len() == 1;
    let mut previous = None;
    for point in &curve.series.points {
        let here = place(point);
        if let (true, Some(from), Some(to)) = (look.has_lines, previous, here)
            && let Some((from, to)) = area.clip(from, to)
        {
            canvas.line(from, to, curve.color);
        }
        if let (true, Some(at)) = (has_points, here)
            && let Some(((x, y), _)) = area.clip(at, at)
        {
            canvas.line((x - 2, y), (x + 2, y), curve.color);
            canvas.line((x, y - 2), (x, y + 2), curve.color);
        }
        previous = here;
    }
}

impl Area {
    /// The part of a line that lies inside: Y.-D. Liang and B. A. Barsky, "A New Concept and Method
    /// for Line Clipping", 1984.
    fn clip(&self, from: (f64, f64), to: (f64, f64)) -> Option<((i32, i32), (i32, i32))> {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (mut enter, mut leave) = (0_f64, 1_f64);
        for (step, room) in [
            (-dx, from.0 - f64::from(self.left)),
            (dx, f64::from(self.right) - from.0),
            (-dy, from.1 - f64::from(self.top)),
            (dy, f64::from(self.bottom) - from.1),
        ] {
            if step == 0.0 && room < 0.0 {
                return None;
            }
            if step < 0.0 {
                enter = enter.max(room / step);
            } else if step > 0.0 {
                leave = leave.min(room / step);
            }
        }
        let at = |share: f64| {
            ((from.0 + share * dx).round() as i32, (from.1 + share * dy).round() as i32)
        };
        (enter <= leave).then(|| (at(enter), at(leave)))
    }
}

fn draw_key(canvas: &mut Canvas, look: &Look, area: &Area, curves: &[Curve<'_>]) {
    let Some(key) = look.key else { return };
    let mut names: Vec<(String, Color)> =
        curves.iter().take(NAMES_MAX).map(|curve| (name(curve.series), curve.color)).collect();
    if curves.len() > NAMES_MAX {
        names.push((format!("and {} more", curves.len() - NAMES_MAX), look.foreground));
    }
    let row = CHARACTER.1 + 2;
    let mut y = match key.is_bottom {
        true => area.bottom - 4 - names.len() as i32 * row,
        false => area.top + 4,
    };
    for (name, color) in names {
        let width = name.chars().count() as i32 * CHARACTER.0;
        let x = match key.is_left {
            true => area.left + 30,
            false => area.right - width - 8,
        };
        canvas.line((x - 24, y + CHARACTER.1 / 2), (x - 4, y + CHARACTER.1 / 2), color);
        canvas.text(&name, (x, y), look.foreground);
        y += row;
    }
}

/// What a series is called: `metric{k=v, …}`.
fn name(series: &Answered) -> String {
    let tags = series.head.labels.iter().map(|label| format!("{}={}", label.name, label.value));
    let tags: Vec<String> = tags.collect();
    match tags.is_empty() {
        true => series.metric.clone(),
        false => format!("{}{{{}}}", series.metric, tags.join(", ")),
    }
}
