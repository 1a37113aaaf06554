use super::*;
use crate::budget::Budget;
use foliot_model::{Frame, Samples, SeriesHead, Value};
use std::sync::Arc;

/// A minute from 2023-11-14 23:00:00 UTC.
const QUERY: &str = "start=1700002800&end=1700002860&tz=UTC";
const FIRST: [u8; 3] = [0x1f, 0x77, 0xb4];
const SECOND: [u8; 3] = [0xd6, 0x27, 0x28];

fn graph(query: &str) -> Result<Graph, HttpError> {
    let query = format!("{QUERY}&{query}");
    let request = HttpRequest { method: "GET", path: "/q", query: &query, body: b"" };
    Ok(Graph::parse(&request, 1_700_003_000_000)?.expect("a form"))
}

/// A picture as rows of pixels.
struct Seen {
    width: usize,
    rgb: Vec<u8>,
}

impl Seen {
    /// Where a colour is: the first and last column and row.
    fn find(&self, color: [u8; 3]) -> Option<[usize; 4]> {
        let pixels = self.rgb.chunks(3).enumerate().filter(|(_, pixel)| *pixel == color);
        pixels.map(|(at, _)| [at % self.width, at / self.width]).fold(None, |all, [x, y]| {
            let [x0, x1, y0, y1] = all.unwrap_or([x, x, y, y]);
            Some([x0.min(x), x1.max(x), y0.min(y), y1.max(y)])
        })
    }
}

/// Draws questions' series, each of points in seconds from the start.
fn draw(query: &str, questions: &[&[(i64, f64)]]) -> Seen {
    let graph = graph(query).unwrap();
    let mut collected = graph.collect();
    for (question, points) in questions.iter().enumerate() {
        let mut samples = Samples::default();
        for &(second, value) in *points {
            samples.push((1_700_002_800 + second) * 1_000_000_000, Value::Float(value));
        }
        let head = Arc::new(SeriesHead { question, ..SeriesHead::default() });
        collected.push(&Frame { head, samples, is_last: true }, &Budget::new(&|_| Ok(()))).unwrap();
    }
    let mut bytes = Vec::new();
    graph.draw(&collected, &mut bytes).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    Seen { width: info.width as usize, rgb }
}

const PLAIN: &str = "png&m=sum:a&nokey&wxh=300x200";

#[test]
fn lines_are_where_their_values_are() {
    // The area is 70..=284 wide and 30..=176 high: 0 is at the bottom, 10 on top.
    let flat = draw(&format!("{PLAIN}&yrange=[0:10]"), &[&[(0, 5.0), (60, 5.0)]]);
    assert_eq!((flat.width, flat.rgb.len()), (300, 300 * 200 * 3));
    assert_eq!(flat.find(FIRST), Some([70, 284, 103, 103]));
    let rising = draw(&format!("{PLAIN}&yrange=[0:10]"), &[&[(0, 0.0), (60, 10.0)]]);
    assert_eq!(rising.find(FIRST), Some([70, 284, 30, 176]));
    let half = draw(&format!("{PLAIN}&yrange=[0:10]"), &[&[(30, 10.0), (60, 10.0)]]);
    assert_eq!(half.find(FIRST), Some([177, 284, 30, 30]));
}

#[test]
fn what_lies_outside_is_cut_off_where_it_leaves() {
    let range = format!("{PLAIN}&yrange=[0:10]");
    // From twice the height above, it comes in halfway.
    let falling = draw(&range, &[&[(0, 20.0), (60, 0.0)]]);
    assert_eq!(falling.find(FIRST), Some([177, 284, 30, 176]));
    // Samples before and after reach the edges.
    let long = draw(&range, &[&[(-60, 5.0), (120, 5.0)]]);
    assert_eq!(long.find(FIRST), Some([70, 284, 103, 103]));
    assert_eq!(draw(&range, &[&[(0, 50.0), (60, 50.0)]]).find(FIRST), None);
    assert_eq!(draw(&range, &[&[(0, f64::NAN), (60, f64::NAN)]]).find(FIRST), None);
}

#[test]
fn axes_fit_what_is_shown() {
    // 0 to 8 in steps of 1: both are ends.
    let fitted = draw(PLAIN, &[&[(0, 0.0), (60, 8.0)]]);
    assert_eq!(fitted.find(FIRST), Some([70, 284, 30, 176]));
    // Equal values lie in the middle.
    let flat = draw(PLAIN, &[&[(0, 0.0), (60, 0.0)]]);
    assert_eq!(flat.find(FIRST), Some([70, 284, 103, 103]));
    // Tenfold is one step of a logarithmic axis; what is not above 0 has no place.
    let log = draw(&format!("{PLAIN}&ylog"), &[&[(0, 1.0), (30, 10.0), (60, 100.0)]]);
    assert_eq!(log.find(FIRST), Some([70, 284, 30, 176]));
    let none = draw(&format!("{PLAIN}&ylog"), &[&[(0, -1.0), (60, 0.0)]]);
    assert_eq!(none.find(FIRST), None);
    // The axis on the right has a scale of its own, and takes room.
    let two = format!("{PLAIN}&m=sum:b&o=&o=axis%20x1y2&yrange=[0:10]&y2range=[0:1000]");
    let two = draw(&two, &[&[(0, 5.0), (60, 5.0)], &[(0, 0.0), (60, 0.0)]]);
    assert_eq!(two.find(FIRST), Some([70, 230, 103, 103]));
    assert_eq!(two.find(SECOND), Some([70, 230, 176, 176]));
}

#[test]
fn single_points_and_points_are_marked() {
    let range = format!("{PLAIN}&yrange=[0:10]");
    assert_eq!(draw(&range, &[&[(30, 5.0)]]).find(FIRST), Some([175, 179, 101, 105]));
    let points = format!("{range}&style=points");
    let points = draw(&points, &[&[(15, 5.0), (45, 5.0)]]);
    assert_eq!(points.find(FIRST), Some([122, 233, 101, 105]));
}

#[test]
fn colours_texts_and_the_key_are_drawn() {
    let white = draw(PLAIN, &[&[]]);
    assert_eq!(white.rgb[..3], [255, 255, 255]);
    let dark = draw(&format!("{PLAIN}&bgcolor=x102030&fgcolor=xff00ff"), &[&[]]);
    assert_eq!(dark.rgb[..3], [0x10, 0x20, 0x30]);
    let black = |seen: &Seen| seen.rgb.chunks(3).filter(|pixel| *pixel == [0, 0, 0]).count();
    for more in ["title=T", "ylabel=left", "y2label=right"] {
        assert!(black(&draw(&format!("{PLAIN}&{more}"), &[&[]])) > black(&white), "{more}");
    }
    let key = |place: &str| {
        let query = format!("png&m=sum:metric&wxh=400x300&yrange=[0:10]&key={place}");
        draw(&query, &[&[(0, 50.0), (60, 50.0)]]).find(FIRST).expect("a key")
    };
    let ([x, .., y, _], [x_left, .., y_bottom, _]) = (key("right%20top"), key("bottom%20left"));
    assert!(x > 300 && y < 50 && x_left < 120 && y_bottom > 240, "{x} {y} {x_left} {y_bottom}");
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    for (query, text) in [
        ("wxh=99x100", "Invalid wxh parameter: 99x100"),
        ("wxh=5000x100", "Invalid wxh parameter: 5000x100"),
        ("wxh=100", "Invalid wxh parameter: 100"),
        ("yrange=1:2", "'yrange' was invalid. Must be in the format [min:max]."),
        ("yrange=[1:system(1)]", "'yrange' was invalid. Must be in the format [min:max]."),
        ("y2range=[a:]", "'y2range' was invalid. Must be in the format [min:max]."),
        ("bgcolor=red", "'bgcolor' was invalid. Must be a hex value e.g. 'xFFFFFF'"),
        ("fgcolor=x12345", "'fgcolor' was invalid. Must be a hex value e.g. 'xFFFFFF'"),
        ("key=%60id%60", "'key' was invalid: `id`"),
        ("style=image", "'style' was invalid: image"),
        ("o=&o=", "2 `o' parameters, but 1 `m' parameters."),
    ] {
        let error = graph(&format!("png&m=sum:a&{query}")).unwrap_err();
        assert_eq!((error.status, error.message.as_str()), (400, text), "{query}");
    }
    // Values that only seem to.
    for query in ["yrange=[:]", "yrange=[*:1e3]", "key=out%20bottom", "title=%60id%60"] {
        assert!(graph(&format!("png&m=sum:a&{query}")).is_ok(), "{query}");
    }
}

#[test]
fn ticks_are_at_round_places() {
    let params = Params::parse("yrange=[0:1]");
    let scale = Axis::parse(&params, "y").unwrap().scale([].into_iter(), 100.0, 0.0);
    let texts: Vec<String> = scale.ticks().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    assert_eq!(scale.ticks()[1].0, 80.0);
    let zone = jiff::tz::TimeZone::get("Asia/Kolkata").unwrap();
    let hour = axis::times(1_700_002_800_000, 1_700_006_400_000, 6, &zone);
    let texts: Vec<&str> = hour.iter().map(|(_, text)| text.as_str()).collect();
    // 04:30 there.
    assert_eq!(texts, ["04:30", "04:40", "04:50", "05:00", "05:10", "05:20", "05:30"]);
    let days = axis::times(1_699_920_000_000, 1_700_265_600_000, 4, &jiff::tz::TimeZone::UTC);
    assert_eq!(days[0].1, "2023/11/14");
    assert_eq!(days.len(), 5);
    // Whatever the times, there are few ticks.
    assert!(axis::times(0, i64::MAX, 10, &zone).len() <= 13);
}
