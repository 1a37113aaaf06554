//! The text format in which targets expose their metrics: lines into batches.
//!
//! `name{label="value",…} value [milliseconds]`; comments and blank lines say nothing. Names may be
//! quoted, and the series' own name may stand in the braces: `{"a.b","c d"="x"} 1`.

use crate::exemplars::Exemplars;
use crate::group::Group;
use crate::key::{NAME, push_label};
use crate::scraped::{Format, read_exemplar, seconds};
use crate::write::{PIECE_BYTES_MAX, PIECE_ROWS_MAX, Room, cell, time_ns};
use foliot_model::{Batch, DEFAULT_FIELD, Reject, Span};

/// Lines that are decoded piece by piece.
#[derive(Debug)]
pub struct TextLines<'a> {
    rest: &'a [u8],
    line: u32,
    format: Format,
    now_ms: i64,
    group: &'a Group,
    exemplar_count: u64,
    // Kept so that they need not be made for each line.
    key: Vec<u8>,
    unescaped: [Vec<u8>; 2],
}

/// What a line says.
struct Sample<'a> {
    value: f64,
    time_ns: i64,
    /// What stands behind the sign of an exemplar.
    exemplar: Option<&'a [u8]>,
}

impl<'a> TextLines<'a> {
    /// The lines of a text, all series of which have the labels of a group. Samples without a time
    /// are of `now_ms`; those of OpenMetrics have theirs in seconds.
    pub fn new(text: &'a [u8], format: Format, now_ms: i64, group: &'a Group) -> Self {
        Self {
            rest: text,
            line: 0,
            format,
            now_ms,
            group,
            exemplar_count: 0,
            key: Vec::new(),
            unescaped: Default::default(),
        }
    }

    /// How many lines were read.
    pub fn lines(&self) -> u32 {
        self.line
    }

    /// How many exemplars stood in what was decoded, good ones and others.
    pub fn exemplar_count(&self) -> u64 {
        self.exemplar_count
    }

    /// Puts the next piece into an empty batch, whose bytes are the text. What cannot be stored
    /// becomes a reject with the number of its line. Exemplars go to `exemplars`; one that cannot
    /// be read costs its line nothing. Returns whether there may be more.
    pub fn decode(
        &mut self,
        batch: &mut Batch<'_>,
        out: (&mut Vec<Reject>, &mut Exemplars),
    ) -> bool {
        self.fill(batch, Room { rows: PIECE_ROWS_MAX, bytes: PIECE_BYTES_MAX }, out)
    }

    /// Puts all lines into one batch.
    pub fn decode_whole(&mut self, batch: &mut Batch<'_>, out: (&mut Vec<Reject>, &mut Exemplars)) {
        self.fill(batch, Room { rows: usize::MAX, bytes: usize::MAX }, out);
    }

    fn fill(
        &mut self,
        batch: &mut Batch<'_>,
        mut room: Room,
        (rejects, exemplars): (&mut Vec<Reject>, &mut Exemplars),
    ) -> bool {
        batch.number_lines(1);
        let field = batch.push_scratch(|out| out.extend_from_slice(DEFAULT_FIELD.as_bytes()));
        let shape = batch.push_shape(&[field]);
        while room.is_left() {
            let Some(line) = self.next_line() else { return false };
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            room.rows -= 1;
            match self.read(line) {
                Ok(sample) => {
                    let key = batch.push_scratch(|out| out.extend_from_slice(&self.key));
                    room.bytes = room.bytes.saturating_sub(key.length as usize);
                    batch.push_cell(cell(sample.value));
                    batch.push_row([Span::default(), key], sample.time_ns, shape, self.line);
                    if let Some(exemplar) = sample.exemplar {
                        room.bytes = room.bytes.saturating_sub(key.length as usize + line.len());
                        self.exemplar(exemplar, exemplars);
                    }
                }
                Err((field, reason)) => {
                    rejects.push(Reject { line: self.line, field: field.into(), reason });
                }
            }
        }
        true
    }

    fn next_line(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest.get(1..).unwrap_or_default();
        self.line = self.line.saturating_add(1);
        Some(line)
    }

    /// Reads a line; its series is then in `key`.
    fn read<'l>(&mut self, line: &'l [u8]) -> Result<Sample<'l>, Fault> {
        let (key, group) = (&mut self.key, self.group);
        key.clear();
        key.extend_from_slice(group.packed());
        let mut push = |name: &[u8], value: &[u8]| {
            if !group.has(name) {
                push_label(name, value, key);
            }
        };
        let rest = read_series(line, &mut self.unescaped, &mut push)?;
        let sign = memchr::memchr(b'#', rest).unwrap_or(rest.len());
        let (sample, behind) = rest.split_at_checked(sign).unwrap_or((rest, &[]));
        let (value, time_ms) = read_sample(sample, self.format, self.now_ms)?;
        let time_ns = time_ns(time_ms)
            .ok_or_else(|| ("timestamp", format!("timestamp {time_ms} cannot be stored")))?;
        Ok(Sample { value, time_ns, exemplar: behind.get(1..) })
    }

    fn exemplar(&mut self, text: &[u8], exemplars: &mut Exemplars) {
        self.exemplar_count += 1;
        let text = std::str::from_utf8(text).map_err(|_| "it is no UTF-8".to_owned());
        if let Ok(exemplar) = text.and_then(read_exemplar) {
            exemplars.push(&[&self.key], &exemplar, self.now_ms);
        }
    }
}

/// What is at fault, and why.
pub(crate) type Fault = (&'static str, String);

/// Reads name and labels; returns what stands behind them.
pub(crate) fn read_series<'a>(
    line: &'a [u8],
    [first, second]: &mut [Vec<u8>; 2],
    push: &mut impl FnMut(&[u8], &[u8]),
) -> Result<&'a [u8], Fault> {
    let is_end = |byte: &u8| *byte == b'{' || byte.is_ascii_whitespace();
    let end = line.iter().position(is_end);
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    if !name.is_empty() {
        push(NAME, name);
    }
    let Some(mut rest) = rest.trim_ascii_start().strip_prefix(b"{") else { return Ok(rest) };
    loop {
        rest = rest.trim_ascii_start();
        if let Some(rest) = rest.strip_prefix(b"}") {
            return Ok(rest);
        }
        let is_quoted = rest.starts_with(b"\"");
        rest = match is_quoted {
            true => read_quoted(rest, first)?,
            false => {
                let end = rest.iter().position(|byte| *byte == b'=' || byte.is_ascii_whitespace());
                let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
                first.clear();
                first.extend_from_slice(name);
                rest
            }
        };
        rest = rest.trim_ascii_start();
        match rest.strip_prefix(b"=") {
            Some(value) => {
                rest = read_quoted(value.trim_ascii_start(), second)?;
                push(first, second);
            }
            None if is_quoted => push(NAME, first),
            None => return Err(("tag", "a label needs = and a value in quotes".to_owned())),
        }
        rest = rest.trim_ascii_start();
        match rest.strip_prefix(b",") {
            Some(behind) => rest = behind,
            None if rest.starts_with(b"}") => {}
            None => return Err(("tag", "a comma or } must follow a label".to_owned())),
        }
    }
}

/// Reads a text in quotes into `out`; returns what stands behind it.
fn read_quoted<'a>(text: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], Fault> {
    out.clear();
    let Some(mut rest) = text.strip_prefix(b"\"") else {
        return Err(("tag", "a label's value must stand in quotes".to_owned()));
    };
    loop {
        rest = match rest {
            [b'"', rest @ ..] => return Ok(rest),
            [b'\\', b'n', rest @ ..] => {
                out.push(b'\n');
                rest
            }
            [b'\\', byte @ (b'\\' | b'"'), rest @ ..] | [byte, rest @ ..] => {
                out.push(*byte);
                rest
            }
            [] => return Err(("tag", "a quote is not closed".to_owned())),
        };
    }
}

/// Reads value and time.
fn read_sample(text: &[u8], format: Format, now_ms: i64) -> Result<(f64, i64), Fault> {
    let text = std::str::from_utf8(text).unwrap_or("?");
    let mut words = text.split_ascii_whitespace();
    let value = words.next().ok_or_else(|| ("value", "a value is missing".to_owned()))?;
    let value = value.parse().map_err(|_| ("value", format!("{value:?} is no number")))?;
    let time_ms = match words.next() {
        None => now_ms,
        Some(word) if format == Format::OpenMetrics => seconds(word)
            .map_err(|_| ("timestamp", format!("timestamp {word:?} is no number of seconds")))?,
        Some(word) => word.parse().map_err(|_| {
            ("timestamp", format!("timestamp {word:?} is no number of milliseconds"))
        })?,
    };
    match words.next() {
        None => Ok((value, time_ms)),
        Some(word) => Err(("line", format!("{word:?} stands behind the timestamp"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KEY_SYNTAX;
    use foliot_model::{KeyParts, KeySecret};

    /// Rows, refusals by line, and exemplars, of a text in a format.
    type Seen = (Vec<String>, Vec<(u32, String)>, Vec<String>);

    fn decode_as(text: &str, format: Format, group: &Group) -> Seen {
        let secret = KeySecret(1);
        let (mut rejects, mut exemplars, mut rows) = (Vec::new(), Exemplars::default(), Vec::new());
        let mut lines = TextLines::new(text.as_bytes(), format, 7, group);
        let mut has_more = true;
        while has_more {
            let bytes = text.as_bytes();
            let mut batch = Batch::new(bytes, 0, &KEY_SYNTAX, secret, Default::default());
            has_more = lines.decode(&mut batch, (&mut rejects, &mut exemplars));
            rows.extend(shown(&batch));
        }
        let told = exemplars.iter().map(|one| {
            let [series, labels] = [one.series, one.labels].map(crate::shown_key);
            format!("{series} {labels} {} {} {}", one.value, one.time_ms, one.has_time)
        });
        let told = told.collect();
        (rows, rejects.into_iter().map(|reject| (reject.line, reject.reason)).collect(), told)
    }

    fn decode(text: &str) -> (Vec<String>, Vec<(u32, String)>) {
        let (rows, rejects, _) = decode_as(text, Format::Text, &Group::default());
        (rows, rejects)
    }

    fn shown(batch: &Batch<'_>) -> Vec<String> {
        let shown = |row: &foliot_model::Row| {
            let mut parts = KeyParts::default();
            (KEY_SYNTAX.parse)(b"", batch.slice(row.key_tail), &mut parts).unwrap();
            let mut text = String::from_utf8_lossy(parts.measurement()).into_owned();
            for (name, value) in parts.labels() {
                let [name, value] = [name, value].map(String::from_utf8_lossy);
                text += &format!(",{name}={value}");
            }
            format!("{text} {} {}", batch.cells(row, 1)[0].to_f64(), row.time_ns / 1_000_000)
        };
        batch.rows().iter().map(shown).collect()
    }

    #[test]
    fn lines_as_targets_write_them_are_read() {
        let text = "# HELP m a metric\n# TYPE m counter\n\nm 1\n m{a=\"b\"} 2.5 1700000000000\r\n\
            m{a=\"b\",} -3e2 -1\nm { a = \"b\" , c = \"d\" } NaN\nm{} +Inf\n\
            m{a=\"q\\\"s\\\\n\\n}{,#\"} -Inf 5\nm{le=\"0.1\"} 4 # {id=\"x\"} 0.05\n\
            {\"my.metric\",\"a b\"=\"c\"} 1\nlast 9";
        let wanted = [
            "m 1 7",
            "m,a=b 2.5 1700000000000",
            "m,a=b -300 -1",
            "m,a=b,c=d NaN 7",
            "m inf 7",
            "m,a=q\"s\\n\n}{,# -inf 5",
            "m,le=0.1 4 7",
            "my.metric,a b=c 1 7",
            "last 9 7",
        ];
        assert_eq!(decode(text), (wanted.map(str::to_owned).to_vec(), Vec::new()));
    }

    #[test]
    fn bad_lines_are_told_by_number() {
        for (line, word) in [
            ("m", "a value is missing"),
            ("m x", "\"x\" is no number"),
            ("m 1 x", "milliseconds"),
            ("m 1 2 3", "behind the timestamp"),
            ("m 1 9223372036854775807", "cannot be stored"),
            ("m{a=\"b} 1", "not closed"),
            ("m{a=b} 1", "in quotes"),
            ("m{a} 1", "needs ="),
            ("m{a=\"b\" c=\"d\"} 1", "a comma"),
            ("m{", "needs ="),
        ] {
            let (rows, rejects) = decode(&format!("good 1\n{line}\ngood 2\n"));
            assert_eq!(rows.len(), 2, "{line}");
            assert_eq!(rejects.len(), 1, "{line}");
            assert_eq!(rejects[0].0, 2);
            assert!(rejects[0].1.contains(word), "{line}: {}", rejects[0].1);
        }
    }

    #[test]
    fn exemplars_come_with_their_series_and_cost_no_line() {
        let text = "m_bucket{le=\"0.1\"} 4 5 # {id=\"x\"} 0.05 1.5\nm 1 # {} 2\n\
            m 2 # {id=\"y\"\nm 3 #\nm 4 # {__name__=\"n\"} 1\nm x # {id=\"z\"} 1\n";
        let (rows, rejects, exemplars) = decode_as(text, Format::Text, &Group::default());
        assert_eq!((rows.len(), rejects.len()), (5, 1));
        let wanted = ["m_bucket{le=\"0.1\"} {id=\"x\"} 0.05 1500 true", "m{} {} 2 7 false"];
        assert_eq!(exemplars, wanted);
        let group = Group::default();
        let mut lines = TextLines::new(text.as_bytes(), Format::Text, 7, &group);
        let bytes = text.as_bytes();
        let mut batch = Batch::new(bytes, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
        lines.decode_whole(&mut batch, (&mut Vec::new(), &mut Exemplars::default()));
        assert_eq!((batch.rows().len(), lines.exemplar_count()), (5, 5));
    }

    #[test]
    fn openmetrics_has_its_times_in_seconds() {
        let (rows, rejects, _) =
            decode_as("m 1 1.5\nm 2 x\n# EOF\n", Format::OpenMetrics, &Group::default());
        assert_eq!(rows, ["m 1 1500"]);
        assert!(rejects[0].1.contains("no number of seconds"), "{rejects:?}");
    }

    #[test]
    fn labels_of_a_group_go_before_those_of_a_line() {
        let group = Group::of_path(["job", "j", "instance", "i"]).unwrap();
        let (rows, ..) = decode_as("m{job=\"other\",a=\"b\"} 1 5\n", Format::Text, &group);
        assert_eq!(rows, ["m,job=j,instance=i,a=b 1 5"]);
    }

    #[test]
    fn a_text_is_cut_between_lines() {
        let count = PIECE_ROWS_MAX as u32 + 2;
        let text = "abc 1\n".repeat(count as usize - 1) + "x";
        let (rows, rejects, _) = decode_as(&text, Format::Text, &Group::default());
        assert_eq!((rows.len() as u32, rejects[0].0), (count - 1, count));
        let group = Group::default();
        let mut lines = TextLines::new(text.as_bytes(), Format::Text, 7, &group);
        let bytes = text.as_bytes();
        let mut batch = Batch::new(bytes, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
        assert!(lines.decode(&mut batch, (&mut Vec::new(), &mut Exemplars::default())));
        assert_eq!(batch.rows().len(), PIECE_ROWS_MAX);
    }
}
