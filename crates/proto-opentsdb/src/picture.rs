//! `/q`: a question answered in lines, in figures about a picture, or as the picture.
//!
//! OpenTSDB hands the points and the parameters to gnuplot; parameters that reached its command
//! line were its worst holes. Here a picture is drawn in memory, and parameters are numbers,
//! colours and texts that are drawn and nothing else.

mod axis;
mod canvas;
mod collected;
mod draw;

use crate::http::{HttpError, HttpRequest, Params};
use crate::lang::Request;
use axis::Axis;
use canvas::Color;
pub use collected::Collected;
use serde_json::json;

/// What a request to `/q` wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A line per sample.
    Lines,
    /// How many points there are, and which tags were aggregated.
    Figures,
    /// A picture.
    Picture,
}

/// A request to `/q`.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The questions, which tell all samples that they look at, also those before and after their
    /// times: lines reach the picture's edges.
    pub request: Request,
    /// What is answered.
    pub form: Form,
    look: Look,
}

/// How a picture is to look.
#[derive(Clone, Debug, PartialEq)]
struct Look {
    width: u32,
    height: u32,
    /// On the left, and on the right.
    axes: [Axis; 2],
    /// Questions whose series belong to the axis on the right.
    is_right: Vec<bool>,
    title: String,
    key: Option<Key>,
    foreground: Color,
    background: Color,
    has_points: bool,
    has_lines: bool,
}

/// Where series are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    is_left: bool,
    is_bottom: bool,
}

/// Pixels of one side: what labels need, and what a screen has.
const SIDE_PIXELS: std::ops::RangeInclusive<u32> = 100..=4096;

/// Characters of a text that are drawn.
const TEXT_CHARS_MAX: usize = 200;

impl Graph {
    /// Reads a request; nothing when it says none of the three forms and is for the page at `/`.
    ///
    /// # Errors
    /// 400 for questions that do not parse, as in [`Request::parse`], and for parameters of the
    /// picture that make no sense.
    pub fn parse(request: &HttpRequest<'_>, now_ms: i64) -> Result<Option<Self>, HttpError> {
        let params = Params::parse(request.query);
        let form = match ["ascii", "json", "png"].map(|name| params.has(name)) {
            [true, ..] => Form::Lines,
            [_, true, _] => Form::Figures,
            [_, _, true] => Form::Picture,
            _ => return Ok(None),
        };
        let request = Request::parse_graph(&params, now_ms)?;
        let look = Look::parse(&params, request.questions())?;
        Ok(Some(Self { request, form, look }))
    }

    /// Room for the points.
    pub fn collect(&self) -> Collected {
        let metric = |index| self.request.metric(index).map(str::to_owned);
        Collected::new((0..self.request.questions()).map(metric).collect())
    }

    /// Writes the figures: `samples` were read, and it took `millis`.
    pub fn figures(&self, collected: &Collected, samples: u64, millis: u64) -> String {
        let plotted: usize = collected.answers.iter().flatten().map(|one| one.points.len()).sum();
        let aggregated = collected.answers.iter().map(|answers| match answers.last() {
            Some(last) => last.head.varying.iter().map(|name| &**name).collect(),
            None => Vec::<&str>::new(),
        });
        let etags: Vec<_> = aggregated.collect();
        json!({"plotted": plotted, "points": samples, "etags": etags, "timing": millis}).to_string()
    }

    /// Draws the picture and appends it as PNG.
    ///
    /// # Errors
    /// When it cannot be packed, which would be a defect.
    pub fn draw(&self, collected: &Collected, out: &mut Vec<u8>) -> Result<(), HttpError> {
        let canvas = draw::draw(&self.look, &self.request, collected);
        canvas.write_png(out).map_err(|error| HttpError::new(500, error.to_string()))
    }
}

impl Look {
    fn parse(params: &Params, questions: usize) -> Result<Self, HttpError> {
        let (width, height) = match params.get("wxh") {
            Some(text) => size(text)?,
            None => (1024, 768),
        };
        let options: Vec<&str> = params.all("o").collect();
        if !options.is_empty() && options.len() != questions {
            let count = options.len();
            let message = format!("{count} `o' parameters, but {questions} `m' parameters.");
            return Err(HttpError::bad_request(message));
        }
        let style = params.get("style").unwrap_or("lines");
        let (has_lines, has_points) = match style {
            "lines" => (true, false),
            "points" | "dots" => (false, true),
            "linespoint" | "linespoints" => (true, true),
            // The peer's other styles are gnuplot's.
            "circles" | "impulses" | "steps" | "fsteps" | "histeps" | "boxes" => (true, false),
            _ => return Err(HttpError::bad_request(format!("'style' was invalid: {style}"))),
        };
        let key = Key::parse(params.get("key").unwrap_or_default())?;
        Ok(Self {
            width,
            height,
            axes: [Axis::parse(params, "y")?, Axis::parse(params, "y2")?],
            is_right: options.iter().map(|option| option.contains("x1y2")).collect(),
            title: text(params, "title"),
            key: (!params.has("nokey")).then_some(key),
            foreground: color(params, "fgcolor", Color::BLACK)?,
            background: color(params, "bgcolor", Color::WHITE)?,
            has_points,
            has_lines,
        })
    }
}

impl Key {
    /// Reads gnuplot's words for a place.
    fn parse(text: &str) -> Result<Self, HttpError> {
        const WORDS: [&str; 8] =
            ["out", "left", "top", "center", "right", "horiz", "box", "bottom"];
        let mut words =
            text.split(|c: char| !c.is_ascii_lowercase()).filter(|word| !word.is_empty());
        if words.clone().any(|word| !WORDS.contains(&word)) {
            return Err(HttpError::bad_request(format!("'key' was invalid: {text}")));
        }
        let (is_left, is_bottom) =
            (words.clone().any(|word| word == "left"), words.any(|word| word == "bottom"));
        Ok(Self { is_left, is_bottom })
    }
}

/// Reads `<width>x<height>`.
fn size(text: &str) -> Result<(u32, u32), HttpError> {
    let sides = text.trim().split_once('x').and_then(|(width, height)| {
        let side = |text: &str| text.parse().ok().filter(|side| SIDE_PIXELS.contains(side));
        Some((side(width)?, side(height)?))
    });
    sides.ok_or_else(|| {
        let (min, max) = (SIDE_PIXELS.start(), SIDE_PIXELS.end());
        HttpError::bad_request(format!("Invalid wxh parameter: {text}"))
            .with_details(format!("Each side has {min} to {max} pixels, such as 1024x768"))
    })
}

/// Reads `xRRGGBB`.
fn color(params: &Params, name: &str, default: Color) -> Result<Color, HttpError> {
    let Some(text) = params.get(name) else { return Ok(default) };
    let digits = text.strip_prefix('x').filter(|digits| digits.len() == 6);
    let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    value.map(Color::new).ok_or_else(|| {
        let message = format!("'{name}' was invalid. Must be a hex value e.g. 'xFFFFFF'");
        HttpError::bad_request(message)
    })
}

/// A text that is drawn as it stands.
fn text(params: &Params, name: &str) -> String {
    params.get(name).unwrap_or_default().chars().take(TEXT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests;
