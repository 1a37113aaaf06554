//! Reports: tables, plots and words, held as data and written as JSON, CSV, Markdown and one HTML
//! page that needs nothing else. It knows no experiment.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

mod compare;
mod data;
mod html;
mod measurement;
mod svg;

pub(crate) use compare::compare;
use data::NO_VERDICT;
pub(crate) use data::{Plot, Report, SCHEMA_VERSION, Section, Table};
pub(crate) use measurement::Measurement;

impl Report {
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
        let summary = self.summary();
        if !summary.is_empty() {
            let _ = writeln!(out);
        }
        for words in summary {
            let _ = writeln!(out, "- {words}");
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

impl Table {
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
    fn a_spectrum_and_a_curve_have_a_point_for_each_valid_cell_and_no_other() {
        let sound =
            |median: f64| Some(crate::runs::sound_for_tests(0.9 * median, median, 2.0 * median));
        let mut report = sample();
        let section = report.section("Response");
        let mut spectrum = Plot::spectrum("by percentile");
        let point = |share, ms| (Plot::nines(share), ms);
        spectrum.line(
            "foliot",
            vec![point(0.5, sound(0.2)), point(0.99, sound(30.0)), point(0.999, None)],
        );
        let mut curve = Plot::lines("by throughput", "values/s", "ms");
        curve.curve(
            "foliot",
            vec![(sound(1000.0), sound(1.0)), (sound(2000.0), None), (None, sound(9.0))],
        );
        section.plots.extend([spectrum, curve]);
        let page = html::page(&report);
        let (_, page) = page.split_once("<h2>Response</h2>").unwrap();
        assert_eq!(page.matches("<circle").count(), 3);
        // One range for each point, and one more from left to right.
        assert_eq!(page.matches("class=\"range\"").count(), 4);
        for told in
            [">median</text>", ">p99.9</text>", ">100</text>", "foliot: 30 (27 to 60) at p99"]
        {
            assert!(page.contains(told), "{told}: {page}");
        }
    }

    #[test]
    fn the_summary_counts_what_has_a_verdict_and_begins_with_losses() {
        let sound = |median: f64| Some(crate::runs::sound_for_tests(median, median, median));
        let mut report = sample();
        report.subject = "foliot (os)".into();
        let bars = |title: &str, ours: f64, theirs: f64| {
            let mut plot = Plot::bars(title, "values/s");
            plot.bar("foliot (os)", vec![("1".into(), sound(9.0)), ("5".into(), sound(ours))]);
            plot.bar("influx (os)", vec![("1".into(), None), ("5".into(), sound(theirs))]);
            // It answers from memory: it stands beside what Foliot does so, and nothing else.
            plot.bar("ticktock (memory)", vec![("1".into(), sound(1e6)), ("5".into(), sound(1e6))]);
            plot.bar("foliot (memory)", vec![("1".into(), sound(4e6)), ("5".into(), None)]);
            plot.bar("questdb (durable)", vec![("1".into(), sound(7.0))]);
            plot
        };
        report.sections[0].plots.extend([bars("won", 100.0, 50.0), bars("lost", 50.0, 100.0)]);
        assert_eq!(
            report.summary(),
            [
                "1 of 2 measured rows have a verdict; the others say why.",
                "lost, 5: foliot (os) 50 (50 to 50), influx (os) 100 (100 to 100).",
                "won, 5: foliot (os) 100 (100 to 100), influx (os) 50 (50 to 50).",
                "won, 1: foliot (memory) 4M (4M to 4M), ticktock (memory) 1M (1M to 1M).",
                "lost, 1: foliot (memory) 4M (4M to 4M), ticktock (memory) 1M (1M to 1M).",
            ]
        );
        assert!(html::page(&report).contains("<li>lost, 5: foliot"));
    }

    #[test]
    fn a_peers_fault_is_not_the_subjects() {
        let mut report = sample();
        report.subject = "foliot (os)".into();
        report.judge("foliot (os)", true);
        assert!(html::page(&report).contains("every checked answer was right"));
        report.judge("influx (os)", false);
        let page = html::page(&report);
        assert!(page.contains("badge peer") && page.contains("refused or wrong: influx (os)"));
        report.judge("foliot (os)", false);
        assert!(
            html::page(&report).contains("badge bad\">refused or wrong: foliot (os), influx (os)")
        );
        assert!(!report.right);
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
