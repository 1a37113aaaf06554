//! What a report holds: sections of words, tables and plots. Only a valid cell gives a plot a
//! point.

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
    pub(crate) lines: Vec<Line>,
}

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
        }
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
        Table { name: name.to_owned(), keys: keys.len(), columns, rows: Vec::new() }
    }

    /// Adds a row of facts, from which no speed is concluded.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.judged(cells, None);
    }

    /// Adds a measured row, with the reason why nothing may be concluded from it, if any.
    pub(crate) fn judged(&mut self, cells: Vec<String>, void: Option<String>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "{}", self.name);
        self.rows.push(TableRow { cells, source: None, void });
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

impl Line {
    fn sound(name: &str, sound: Vec<(f64, Sound)>, labels: Vec<String>) -> Line {
        let points = sound.iter().map(|(x, y)| (*x, y.value())).collect();
        let ranges = sound.iter().map(|(_, y)| y.range()).collect();
        Line { name: name.to_owned(), points, ranges, labels }
    }
}

impl Plot {
    pub(crate) fn lines(title: &str, x: &str, y: &str) -> Plot {
        let (title, x, y) = (title.to_owned(), x.to_owned(), y.to_owned());
        Plot { title, x, y, shape: Shape::Lines, lines: Vec::new() }
    }

    pub(crate) fn bars(title: &str, y: &str) -> Plot {
        let (title, y) = (title.to_owned(), y.to_owned());
        Plot { title, x: String::new(), y, shape: Shape::Bars, lines: Vec::new() }
    }

    /// Adds a line through the points of valid cells.
    pub(crate) fn line(&mut self, name: &str, points: Vec<(f64, Option<Sound>)>) {
        let sound = points.into_iter().filter_map(|(x, y)| Some((x, y?)));
        self.lines.push(Line::sound(name, sound.collect(), Vec::new()));
    }

    /// Adds a line that shows the course of one run, from which nothing is concluded.
    pub(crate) fn track(&mut self, name: &str, points: Vec<(f64, f64)>) {
        let (ranges, labels) = (Vec::new(), Vec::new());
        self.lines.push(Line { name: name.to_owned(), points, ranges, labels });
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

    /// Whether there is anything to see.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.points.is_empty())
    }
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
