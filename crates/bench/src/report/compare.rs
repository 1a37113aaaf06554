//! Several reports side by side: rows that bear the same name in tables that bear the same name,
//! with the ratio to the first report where both are numbers.

use super::{Report, Table};

/// One report out of several; each brings a name.
pub(crate) fn compare(reports: &[(String, Report)]) -> Report {
    let mut out = Report::new("Comparison");
    let Some((first_name, first)) = reports.split_first().map(|(first, _)| first) else {
        return out;
    };
    out.title = format!("Comparison: {}", first.title);
    out.right = reports.iter().all(|(_, report)| report.right);
    for section in &first.sections {
        let mut tables = Vec::new();
        for table in &section.tables {
            for column in 1..table.columns.len() {
                tables.extend(column_of(table, column, first_name, reports));
            }
        }
        if !tables.is_empty() {
            out.section(&section.heading).tables = tables;
        }
    }
    out
}

/// One column of a table for all reports; none when its first cells are no numbers.
fn column_of(
    table: &Table,
    column: usize,
    first_name: &str,
    reports: &[(String, Report)],
) -> Option<Table> {
    let measured = || table.rows.iter().filter(|row| row.source.is_none());
    measured().find_map(|row| number(row.cells.get(column)?))?;
    let heading = table.columns.get(column)?;
    let mut columns = vec![table.columns.first()?.as_str(), first_name];
    let ratios: Vec<String> =
        reports.iter().skip(1).map(|(name, _)| format!("{name} / {first_name}")).collect();
    for ((name, _), ratio) in reports.iter().skip(1).zip(&ratios) {
        columns.extend([name.as_str(), ratio.as_str()]);
    }
    let mut out = Table::new(&format!("{}: {heading}", table.name), &columns);
    for row in measured() {
        let (Some(name), Some(base)) = (row.cells.first(), row.cells.get(column)) else { continue };
        let mut cells = vec![name.clone(), base.clone()];
        for (_, report) in reports.iter().skip(1) {
            let cell = find(report, &table.name, name, column).unwrap_or("-");
            let ratio = number(cell).zip(number(base)).filter(|(_, base)| *base != 0.0);
            cells.push(cell.to_owned());
            cells.push(ratio.map_or("-".into(), |(cell, base)| format!("{:.2}", cell / base)));
        }
        out.row(cells);
    }
    Some(out)
}

fn find<'a>(report: &'a Report, table: &str, row: &str, column: usize) -> Option<&'a str> {
    let tables = report.sections.iter().flat_map(|section| &section.tables);
    let mut rows = tables.filter(|other| other.name == table).flat_map(|table| &table.rows);
    let row = rows.find(|other| {
        other.source.is_none() && other.cells.first().is_some_and(|name| name == row)
    })?;
    row.cells.get(column).map(String::as_str)
}

/// Reads a number as reports write them, with spaces between thousands.
fn number(cell: &str) -> Option<f64> {
    let digits: String = cell.chars().filter(|letter| !" ,%".contains(*letter)).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_stand_beside_both_figures() {
        let with = |value: &str| {
            let mut report = Report::new("x");
            let mut table = Table::new("t", &["clients", "values/s"]);
            table.row(vec!["1".into(), value.into()]);
            table.reference("seed", &["1", "9"]);
            report.section("s").tables.push(table);
            report
        };
        let both = [("a".to_owned(), with("2 000")), ("b".to_owned(), with("3 000"))];
        let table = &compare(&both).sections[0].tables[0];
        assert_eq!(table.columns, ["clients", "a", "b", "b / a"]);
        assert_eq!(table.rows.len(), 1);
        assert_eq!(table.rows[0].cells, ["1", "2 000", "3 000", "1.50"]);
    }
}
