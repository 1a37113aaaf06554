//! What a report holds: sections of words, tables and plots. Only a valid cell gives a plot a
//! point.

use std::collections::BTreeSet;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::runs::Sound;

/// Version of report.json; grows with any change that is not an addition.
pub(crate) const SCHEMA_VERSION: u32 = 2;

/// Heads the column that says why nothing may be concluded from a row.
pub(super) const NO_VERDICT: &str = "no verdict, because";

/// Everything that an experiment found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) schema_version: u32,
    pub(crate) tool_version: String,
    pub(crate) title: String,
    /// The command that made the report.
    pub(crate) command: String,
    pub(crate) machine: Vec<(String, String)>,
    pub(crate) sections: Vec<Section>,
    /// Whether everything was accepted and every checked answer was right.
    pub(crate) right: bool,
    /// The server under test.
    #[serde(default)]
    pub(crate) subject: String,
    /// The servers that refused something, answered wrongly or went away.
    #[serde(default)]
    pub(crate) at_fault: BTreeSet<String>,
}

/// A heading with what belongs under it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Section {
    pub(crate) heading: String,
    pub(crate) words: Vec<String>,
    pub(crate) tables: Vec<Table>,
    pub(crate) plots: Vec<Plot>,
}

/// A table; its first columns name the row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// How many columns tell the rows apart; the others hold what was found.
    pub(crate) keys: usize,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<TableRow>,
    /// Whether its rows are measurements, which have a verdict or say why not.
    #[serde(default)]
    pub(crate) is_judged: bool,
}

/// One row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TableRow {
    pub(crate) cells: Vec<String>,
    /// Where a reference figure comes from; such rows were not measured here.
    pub(crate) source: Option<String>,
    /// Why nothing may be concluded from the row.
    pub(crate) void: Option<String>,
}

/// A picture.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) shape: Shape,
    /// Names of places on the x axis; none where it has round numbers.
    #[serde(default)]
    pub(crate) x_names: Vec<(f64, String)>,
    /// Whether a step up the y axis multiplies rather than adds.
    #[serde(default)]
    pub(crate) multiplies: bool,
    pub(crate) lines: Vec<Line>,
}

/// Shares of the samples whose latency a spectrum tells.
const SPECTRUM: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// How the numbers of a plot are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Shape {
    /// Connected points.
    Lines,
    /// One bar per named point, grouped by x.
    Bars,
}

/// One line or one colour of bars.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// (x, y); for bars x is the number of the label.
    pub(crate) points: Vec<(f64, f64)>,
    /// (least, most) of the runs behind each point; none for the course of a single run.
    #[serde(default)]
    pub(crate) ranges: Vec<(f64, f64)>,
    /// The same of x, where it was measured too.
    #[serde(default)]
    pub(crate) spans: Vec<(f64, f64)>,
    /// Names of the x values, for bars.
    pub(crate) labels: Vec<String>,
}

impl Report {
    pub(crate) fn new(title: &str) -> Report {
        let words = std::env::args().collect::<Vec<_>>();
        // Under the name of the whole binary the first word after it is `bench`.
        let own = words.iter().skip(1).take(1).filter(|word| *word == "bench").count();
        let command = words.iter().skip(1 + own).map(String::as_str).collect::<Vec<_>>().join(" ");
        Report {
            schema_version: SCHEMA_VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            title: title.to_owned(),
            command: format!("foliot bench {command}"),
            machine: machine(),
            sections: Vec::new(),
            right: true,
            subject: String::new(),
            at_fault: BTreeSet::new(),
        }
    }

    /// Remembers whether a server took everything and answered rightly.
    pub(crate) fn judge(&mut self, server: &str, right: bool) {
        if !right {
            self.right = false;
            self.at_fault.insert(server.to_owned());
        }
    }

    /// Takes over who was right and who was not in others that this report rests on.
    pub(crate) fn judge_by<'a>(&mut self, others: impl Iterator<Item = &'a Report>) {
        for other in others {
            self.right &= other.right;
            self.at_fault.extend(other.at_fault.iter().cloned());
        }
    }

    /// What all of the report comes to: how much of it counts, then server by server what the plots
    /// of valid cells show, the subject's losses first.
    pub(crate) fn summary(&self) -> Vec<String> {
        let tables = || self.sections.iter().flat_map(|section| &section.tables);
        let measured = || {
            let judged = tables().filter(|table| table.is_judged);
            judged.flat_map(|table| &table.rows).filter(|row| row.source.is_none())
        };
        let (all, valid) = (measured().count(), measured().filter(|row| row.is_valid()).count());
        let mut said = Vec::new();
        if all > 0 {
            said.push(match valid {
                0 => format!("None of {all} measured rows has a verdict: each says why."),
                _ => format!("{valid} of {all} measured rows have a verdict; the others say why."),
            });
        }
        let plots = self.sections.iter().flat_map(|section| &section.plots);
        let mut beside: Vec<(f64, String)> =
            plots.flat_map(|plot| plot.beside(&self.subject)).collect();
        beside.sort_by(|a, b| a.0.total_cmp(&b.0));
        said.extend(beside.into_iter().map(|(_, words)| words));
        said
    }

    /// Starts a section.
    pub(crate) fn section(&mut self, heading: &str) -> &mut Section {
        self.sections.push(Section { heading: heading.to_owned(), ..Section::default() });
        let last = self.sections.len() - 1;
        // Just pushed, so it is there.
        #[allow(clippy::indexing_slicing, reason = "the element was pushed one line above")]
        &mut self.sections[last]
    }
}

impl Section {
    pub(crate) fn say(&mut self, words: impl Into<String>) {
        self.words.push(words.into());
    }
}

impl Table {
    /// A table whose rows are named by the columns `keys` and hold the columns `found`.
    pub(crate) fn new(name: &str, keys: &[&str], found: &[&str]) -> Table {
        let columns = keys.iter().chain(found).map(|column| (*column).to_owned()).collect();
        Table { name: name.to_owned(), keys: keys.len(), columns, ..Table::default() }
    }

    /// Adds a row of facts, from which no speed is concluded.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "{}", self.name);
        self.rows.push(TableRow { cells, source: None, void: None });
    }

    /// Adds a measured row, with the reason why nothing may be concluded from it, if any.
    pub(crate) fn judged(&mut self, cells: Vec<String>, void: Option<String>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "{}", self.name);
        self.rows.push(TableRow { cells, source: None, void });
        self.is_judged = true;
    }

    /// Adds a row of reference figures, measured elsewhere by others.
    pub(crate) fn reference(&mut self, source: &str, cells: &[&str]) {
        debug_assert_eq!(cells.len(), self.columns.len(), "{}", self.name);
        let cells = cells.iter().map(|cell| (*cell).to_owned()).collect();
        self.rows.push(TableRow { cells, source: Some(source.to_owned()), void: None });
    }

    /// Whether some row is void, so that the reasons need a column of their own.
    pub(super) fn has_void(&self) -> bool {
        self.rows.iter().any(|row| row.void.is_some())
    }
}

impl TableRow {
    /// Whether the row was measured here and something may be concluded from it.
    fn is_valid(&self) -> bool {
        self.source.is_none() && self.void.is_none()
    }
}

impl Line {
    fn sound(name: &str, sound: Vec<(f64, Sound)>, labels: Vec<String>) -> Line {
        let points = sound.iter().map(|(x, y)| (*x, y.value())).collect();
        let ranges = sound.iter().map(|(_, y)| y.range()).collect();
        Line { name: name.to_owned(), points, ranges, spans: Vec::new(), labels }
    }
}

impl Plot {
    pub(crate) fn lines(title: &str, x: &str, y: &str) -> Plot {
        let (title, x, y) = (title.to_owned(), x.to_owned(), y.to_owned());
        let (x_names, lines) = (Vec::new(), Vec::new());
        Plot { title, x, y, shape: Shape::Lines, x_names, multiplies: false, lines }
    }

    /// Latency by percentile: each step to the right leaves a tenth of the samples.
    pub(crate) fn spectrum(title: &str) -> Plot {
        let name = |share: f64| match share {
            0.5 => "median".to_owned(),
            share => format!("p{}", (share * 1e4).round() / 1e2),
        };
        let x_names = SPECTRUM.map(|share| (Plot::nines(share), name(share))).to_vec();
        Plot { x_names, multiplies: true, ..Plot::lines(title, "share of the samples below", "ms") }
    }

    /// Where a share of the samples lies on a spectrum.
    pub(crate) fn nines(share: f64) -> f64 {
        -(1.0 - share).log10()
    }

    pub(crate) fn bars(title: &str, y: &str) -> Plot {
        Plot { shape: Shape::Bars, ..Plot::lines(title, "", y) }
    }

    /// Adds a line through the points of valid cells.
    pub(crate) fn line(&mut self, name: &str, points: Vec<(f64, Option<Sound>)>) {
        let sound = points.into_iter().filter_map(|(x, y)| Some((x, y?)));
        self.lines.push(Line::sound(name, sound.collect(), Vec::new()));
    }

    /// Adds a line that shows the course of one run, from which nothing is concluded.
    pub(crate) fn track(&mut self, name: &str, points: Vec<(f64, f64)>) {
        let (ranges, spans, labels) = (Vec::new(), Vec::new(), Vec::new());
        self.lines.push(Line { name: name.to_owned(), points, ranges, spans, labels });
    }

    /// Adds a line through valid cells of which both x and y were measured.
    pub(crate) fn curve(&mut self, name: &str, points: Vec<(Option<Sound>, Option<Sound>)>) {
        let sound: Vec<(Sound, Sound)> =
            points.into_iter().filter_map(|(x, y)| Some((x?, y?))).collect();
        let spans = sound.iter().map(|(x, _)| x.range()).collect();
        let points = sound.iter().map(|(x, y)| (x.value(), *y)).collect();
        self.lines.push(Line { spans, ..Line::sound(name, points, Vec::new()) });
    }

    /// Adds a bar for each valid cell.
    pub(crate) fn bar(&mut self, name: &str, bars: Vec<(String, Option<Sound>)>) {
        let (mut labels, mut sound) = (Vec::new(), Vec::new());
        for (at, (label, height)) in bars.into_iter().enumerate() {
            labels.push(label);
            sound.extend(height.map(|height| (at as f64, height)));
        }
        self.lines.push(Line::sound(name, sound, labels));
    }

    /// How the subject, at each of its acknowledgements, stands beside the others in the last place
    /// where all are told, where more is better: how many times the best of them it is, and that in
    /// words; nothing where too little is told.
    fn beside(&self, subject: &str) -> Vec<(f64, String)> {
        let server = name_and_ack(subject).0;
        let is_own = |line: &&Line| name_and_ack(&line.name).0 == server;
        let own = self.lines.iter().filter(|_| self.shape == Shape::Bars).filter(is_own);
        own.filter_map(|own| self.beside_others(own)).collect()
    }

    fn beside_others(&self, own: &Line) -> Option<(f64, String)> {
        let (server, ack) = name_and_ack(&own.name);
        // Servers that acknowledge something else do other work.
        let is_other = |line: &&Line| {
            let (other, its_ack) = name_and_ack(&line.name);
            other != server && its_ack == ack
        };
        let others: Vec<&Line> = self.lines.iter().filter(is_other).collect();
        let at = |line: &Line, x: f64| line.points.iter().find(|point| point.0 == x).map(|p| p.1);
        let told = |x: &f64| others.iter().any(|line| at(line, *x).is_some());
        let x = own.points.iter().map(|point| point.0).rfind(told)?;
        let ours = at(own, x)?;
        let best = others.iter().filter_map(|line| Some((at(line, x)?, &line.name)));
        let (theirs, name) = best.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let place = own.labels.get(x as usize).map_or("", String::as_str);
        let words = format!(
            "{}, {place}: {} {}, {name} {}.",
            self.title,
            own.name,
            told_of(own, x),
            told_of(others.iter().find(|line| line.name == *name)?, x)
        );
        Some((ours / theirs, words))
    }

    /// Whether there is anything to see.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.points.is_empty())
    }
}

/// A server, and what it acknowledges, of the two that name a row.
fn name_and_ack(name: &str) -> (&str, &str) {
    name.split_once(" (").unwrap_or((name, ""))
}

/// A point of a line in words, with the range of its runs.
fn told_of(line: &Line, x: f64) -> String {
    let Some(place) = line.points.iter().position(|point| point.0 == x) else { return "-".into() };
    let value = line.points.get(place).map_or(0.0, |point| point.1);
    told(value, line.ranges.get(place).copied())
}

/// A value in few letters, with its range.
pub(super) fn told(value: f64, range: Option<(f64, f64)>) -> String {
    match range {
        Some((least, most)) => format!("{} ({} to {})", short(value), short(least), short(most)),
        None => short(value),
    }
}

/// A number in few letters.
pub(super) fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        size if size >= 100.0 || size.fract() == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{scaled:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// What the figures depend on besides the servers.
fn machine() -> Vec<(String, String)> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let after = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?.split_once(':')?.1;
        Some(line.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let now = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
    let mut machine = vec![("date".to_owned(), now), ("cores".to_owned(), cores.to_string())];
    machine.extend(after(&cpuinfo, "model name").map(|model| ("processor".to_owned(), model)));
    machine
        .extend(after(&read("/proc/meminfo"), "MemTotal").map(|size| ("memory".to_owned(), size)));
    let kernel = read("/proc/sys/kernel/osrelease");
    if !kernel.is_empty() {
        machine.push(("kernel".to_owned(), kernel.trim().to_owned()));
    }
    let load = read("/proc/loadavg");
    let mut words = load.split(' ');
    if let (Some(one), Some(five)) = (words.next(), words.next()) {
        let load = format!("{one} over a minute, {five} over five, when the run began");
        machine.push(("load average".to_owned(), load));
    }
    let shared = "client and server share these cores unless the words below say otherwise";
    machine.push(("note".to_owned(), shared.to_owned()));
    machine
}
