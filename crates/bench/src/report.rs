//! Reports: tables, plots and words, held as data and written as JSON, CSV, Markdown and one HTML
//! page that needs nothing else. It knows no experiment.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::runs::Sound;

mod compare;
mod html;
mod measurement;
mod svg;

pub(crate) use compare::compare;
pub(crate) use measurement::Measurement;

/// Version of report.json; grows with any change that is not an addition.
pub(crate) const SCHEMA_VERSION: u32 = 2;

/// Heads the column that says why nothing may be concluded from a row.
const NO_VERDICT: &str = "no verdict, because";

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

    /// Writes report.json, report.md, report.html and a CSV file per table into `dir`.
    pub(crate) fn write(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        fs::write(dir.join("report.json"), serde_json::to_string_pretty(self)? + "\n")?;
        fs::write(dir.join("report.md"), self.markdown())?;
        fs::write(dir.join("report.html"), html::page(self))?;
        let tables = self.sections.iter().flat_map(|section| &section.tables);
        for table in tables {
            let name: String = table.name.chars().map(file_letter).collect();
            fs::write(dir.join(format!("{}.csv", name.trim_matches('-'))), table.csv())?;
        }
        Ok(())
    }

    /// The report as Markdown, without its plots.
    pub(crate) fn markdown(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "# {}\n\n    {}\n", self.title, self.command);
        for (name, value) in &self.machine {
            let _ = writeln!(out, "- {name}: {value}");
        }
        for section in &self.sections {
            let _ = writeln!(out, "\n## {}", section.heading);
            for words in &section.words {
                let _ = writeln!(out, "\n{words}");
            }
            for table in &section.tables {
                let _ = writeln!(out, "\n{}", table.markdown());
            }
        }
        out
    }
}

fn file_letter(letter: char) -> char {
    if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' }
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
    fn has_void(&self) -> bool {
        self.rows.iter().any(|row| row.void.is_some())
    }

    fn markdown(&self) -> String {
        let mut out = format!("**{}**\n\n", self.name);
        let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
        let reasons = self.has_void().then_some(NO_VERDICT);
        let columns = || self.columns.iter().map(String::as_str).chain(reasons);
        out += &line(columns().collect());
        out += &line(columns().map(|_| "---").collect());
        for row in &self.rows {
            let source = row.source.as_ref().map(|source| format!(" *({source})*"));
            let why = reasons.map(|_| row.void.clone().unwrap_or_default());
            let cells = row.cells.iter().cloned().chain(why).map(|cell| cell.replace('|', "\\|"));
            let mut cells: Vec<String> = cells.collect();
            if let (Some(first), Some(source)) = (cells.first_mut(), source) {
                first.push_str(&source);
            }
            out += &line(cells.iter().map(String::as_str).collect());
        }
        out
    }

    /// RFC 4180.
    fn csv(&self) -> String {
        let quote = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
        let line = |cells: &[String], source: &str, why: &str| {
            let cells: Vec<String> = cells.iter().map(quote).collect();
            format!("{},{source},{}\r\n", cells.join(","), quote(&why.to_owned()))
        };
        let mut out = line(&self.columns, "source", NO_VERDICT);
        for row in &self.rows {
            let source = row.source.as_deref().unwrap_or("measured");
            out += &line(&row.cells, source, row.void.as_deref().unwrap_or_default());
        }
        out
    }
}

impl TableRow {
    /// Whether the row was measured here and something may be concluded from it.
    pub(crate) fn is_valid(&self) -> bool {
        self.source.is_none() && self.void.is_none()
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

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn sample() -> Report {
        let mut report = Report::new("Sample <report> & more");
        let section = report.section("Writes");
        section.say("Words with < and &.");
        let mut table = Table::new("table a", &["clients"], &["values/s"]);
        table.row(vec!["1".into(), "100 \"fast\"".into()]);
        table.judged(vec!["2".into(), "200".into()], Some("too <short>".into()));
        table.reference("seed 001", &["1", "90"]);
        section.tables.push(table);
        let mut plot = Plot::lines("rate", "s", "values/s");
        plot.track("foliot", vec![(0.0, 0.0), (1.0, 1000.0), (2.0, 4000.0)]);
        section.plots.push(plot);
        let mut plot = Plot::bars("bars", "ms");
        let sound = crate::runs::sound_for_tests;
        plot.bar("foliot", vec![("p50".into(), Some(sound(0.5, 1.0, 8.0))), ("p99".into(), None)]);
        section.plots.push(plot);
        report
    }

    #[test]
    fn the_page_stands_alone() {
        let page = html::page(&sample());
        for forbidden in ["http://", "https://", "src=", "@import", "url(", "<link"] {
            let rest = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!rest.contains(forbidden), "{forbidden}");
        }
        assert!(page.contains("Sample &lt;report&gt; &amp; more"));
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
        assert!(page.matches("<svg").count() >= 2);
    }

    #[test]
    fn a_void_row_says_why_and_has_no_bar() {
        let report = sample();
        let page = html::page(&report);
        assert!(page.contains("too &lt;short&gt;"));
        assert_eq!(page.matches("<rect").count(), 1, "one of the two cells is valid");
        assert!(report.markdown().contains("| 2 | 200 | too <short> |"));
    }

    #[test]
    fn what_several_runs_found_is_drawn_with_its_range() {
        let page = html::page(&sample());
        assert_eq!(page.matches("class=\"range\"").count(), 1, "a track is a single run");
        assert!(page.contains("foliot, p50: 1 (0.5 to 8)"));
        // The axis goes as far as the range: its end is within the frame, the bar far below.
        assert!(page.contains(">8</text>"), "the axis ends at the greatest of the runs");
    }

    #[test]
    fn csv_quotes_and_names_its_sources() {
        let report = sample();
        assert_eq!(
            report.sections[0].tables[0].csv(),
            "\"clients\",\"values/s\",source,\"no verdict, because\"\r\n\
             \"1\",\"100 \"\"fast\"\"\",measured,\"\"\r\n\
             \"2\",\"200\",measured,\"too <short>\"\r\n\"1\",\"90\",seed 001,\"\"\r\n"
        );
    }

    #[test]
    fn reports_survive_their_json() {
        let report = sample();
        let text = serde_json::to_string(&report).unwrap();
        let again: Report = serde_json::from_str(&text).unwrap();
        assert_eq!(again.markdown(), report.markdown());
    }
}
