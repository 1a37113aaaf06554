//! Several reports side by side: tables that bear the same name in sections with the same heading,
//! and in them rows whose naming cells are all the same, with the ratio to the first report where
//! both are numbers and both rows are valid.

use std::collections::BTreeMap;

use super::data::{Report, Table, TableRow};
use super::measurement::Measurement;

/// One report out of several; each brings a name.
pub(crate) fn compare(reports: &[(String, Report)]) -> Report {
    let mut out = Report::new("Comparison");
    let Some((_, first)) = reports.first() else { return out };
    out.title = format!("Comparison: {}", first.title);
    out.subject = first.subject.clone();
    out.judge_by(reports.iter().map(|(_, report)| report));
    let names: Vec<&str> = reports.iter().map(|(name, _)| name.as_str()).collect();
    for section in &first.sections {
        let mut tables = Vec::new();
        for table in &section.tables {
            let sides = reports.iter().map(|(_, report)| report);
            let sides = sides.map(|report| Rows::of(report, &section.heading, &table.name));
            let sides: Vec<Rows<'_>> = sides.collect();
            let found = table.columns.iter().skip(table.keys);
            tables.extend(found.filter_map(|column| column_of(table, column, &names, &sides)));
        }
        if !tables.is_empty() {
            out.section(&section.heading).tables = tables;
        }
    }
    out
}

/// What names a row: its naming cells, and which of the rows with these it is.
type Identity = (Vec<String>, usize);

/// The measured rows of one table of one report.
#[derive(Default)]
struct Rows<'a> {
    columns: &'a [String],
    by_identity: BTreeMap<Identity, &'a TableRow>,
    in_order: Vec<Identity>,
}

impl<'a> Rows<'a> {
    fn of(report: &'a Report, heading: &str, name: &str) -> Rows<'a> {
        let sections = report.sections.iter().filter(|section| section.heading == heading);
        let mut tables = sections.flat_map(|section| &section.tables);
        let Some(table) = tables.find(|table| table.name == name) else { return Rows::default() };
        let mut rows = Rows { columns: &table.columns, ..Rows::default() };
        for row in table.rows.iter().filter(|row| row.source.is_none()) {
            let naming: Vec<String> = row.cells.iter().take(table.keys).cloned().collect();
            let alike = rows.in_order.iter().filter(|(other, _)| *other == naming).count();
            rows.by_identity.insert((naming.clone(), alike), row);
            rows.in_order.push((naming, alike));
        }
        rows
    }

    /// The cell of a row in a column; whether the row is valid beside it.
    fn cell(&self, identity: &Identity, column: &str) -> Option<(&'a str, bool)> {
        let at = self.columns.iter().position(|other| other == column)?;
        let row = self.by_identity.get(identity)?;
        Some((row.cells.get(at)?.as_str(), row.void.is_none()))
    }
}

/// One column of a table for all reports; none where it holds no numbers.
fn column_of(table: &Table, column: &str, names: &[&str], sides: &[Rows<'_>]) -> Option<Table> {
    let (first_name, others) = names.split_first()?;
    let (first, other_sides) = sides.split_first()?;
    let mut identities = first.in_order.clone();
    for side in other_sides {
        let new = side.in_order.iter().filter(|identity| !first.by_identity.contains_key(identity));
        let new: Vec<Identity> = new.filter(|new| !identities.contains(new)).cloned().collect();
        identities.extend(new);
    }
    let is_number = |identity: &Identity| {
        let cell = |side: &Rows<'_>| number(side.cell(identity, column)?.0);
        sides.iter().any(|side| cell(side).is_some())
    };
    identities.iter().any(is_number).then_some(())?;
    let ratios: Vec<String> = others.iter().map(|name| format!("{name} / {first_name}")).collect();
    let mut found = vec![*first_name];
    for (name, ratio) in others.iter().zip(&ratios) {
        found.extend([*name, ratio]);
    }
    let keys: Vec<&str> = table.columns.iter().take(table.keys).map(String::as_str).collect();
    let mut out = Table::new(&format!("{}: {column}", table.name), &keys, &found);
    for identity in &identities {
        let base = first.cell(identity, column);
        let mut cells = identity.0.clone();
        cells.push(base.map_or("-", |base| base.0).to_owned());
        for side in other_sides {
            let other = side.cell(identity, column);
            cells.push(other.map_or("-", |other| other.0).to_owned());
            cells.push(ratio(base, other));
        }
        out.row(cells);
    }
    Some(out)
}

/// The ratio of two cells; a stroke where one is no number or belongs to a row without a verdict.
fn ratio(base: Option<(&str, bool)>, other: Option<(&str, bool)>) -> String {
    let valid = |cell: Option<(&str, bool)>| number(cell.filter(|cell| cell.1)?.0);
    match valid(base).zip(valid(other)) {
        Some((base, other)) if base == other => "1.00".to_owned(),
        Some((base, other)) if base != 0.0 => format!("{:.2}", other / base),
        _ => "-".to_owned(),
    }
}

/// Reads the number of a cell.
fn number(cell: &str) -> Option<f64> {
    Measurement::read(cell).map(|measurement| measurement.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (server, clients, value, why the row is void)
    type Row = (&'static str, &'static str, &'static str, Option<&'static str>);

    fn report(rows: &[Row]) -> Report {
        let mut report = Report::new("x");
        let mut table = Table::new("t", &["clients", "server"], &["values/s", "note"]);
        for (server, clients, value, void) in rows {
            let cells = [clients, server, value, &"word"].map(|cell| (*cell).to_owned());
            table.judged(cells.to_vec(), void.map(str::to_owned));
        }
        table.reference("seed", &["1", "a", "9", "-"]);
        report.section("s").tables.push(table);
        report
    }

    fn compared(a: &[Row], b: &[Row]) -> Vec<Vec<String>> {
        let both = [("a".to_owned(), report(a)), ("b".to_owned(), report(b))];
        let tables = &compare(&both).sections[0].tables;
        assert_eq!(tables.len(), 1, "a column of words is not compared");
        assert_eq!(tables[0].columns, ["clients", "server", "a", "b", "b / a"]);
        tables[0].rows.iter().map(|row| row.cells.clone()).collect()
    }

    #[test]
    fn rows_are_matched_by_all_cells_that_name_them() {
        let a = [("x", "1", "2 000", None), ("y", "1", "10", None), ("x", "5", "0", None)];
        // Another order, another range, and a row that the first lacks.
        let b = [
            ("x", "5", "0", None),
            ("y", "1", "5 (4 to 6)", None),
            ("x", "1", "3 000", None),
            ("z", "1", "7", None),
        ];
        assert_eq!(
            compared(&a, &b),
            [
                ["1", "x", "2 000", "3 000", "1.50"],
                ["1", "y", "10", "5 (4 to 6)", "0.50"],
                ["5", "x", "0", "0", "1.00"],
                ["1", "z", "-", "7", "-"],
            ]
        );
    }

    #[test]
    fn a_report_beside_itself_is_1_everywhere() {
        let rows = [("x", "1", "1", None), ("y", "1", "2", None), ("y", "1", "3", None)];
        assert!(compared(&rows, &rows).iter().all(|row| row[4] == "1.00"));
    }

    #[test]
    fn a_row_without_a_verdict_has_no_ratio() {
        let void = [("x", "1", "1", Some("client-limited"))];
        let valid = [("x", "1", "1", None)];
        assert_eq!(compared(&void, &valid)[0][4], "-");
        assert_eq!(compared(&valid, &void)[0][4], "-");
    }
}
