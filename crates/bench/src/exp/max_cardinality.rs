//! Maximum cardinality (TickTockDB's report against OpenTSDB on 2 vCPU and 4 GB): every device
//! sends ten values every ten seconds at a phase of its own, one read to nine writes. A number of
//! series is sustained when nothing is refused, nothing falls behind its plan by an interval, and
//! everything asked back is right. The number grows until it is not, then is halved in on.
//!
//! The document's every device sends a request of its own, so requests bound the number; a second
//! table lets a hundred devices share one, as behind a gateway, so memory and values bound it.

use std::io;
use std::time::Duration;

use super::tables::{cost_row, cost_table, thousands, write_cells, write_table};
use super::{Cell, Run, limits};
use crate::caps::Allowance;
use crate::fleet::Fleet;
use crate::pace::Pace;
use crate::profile::Profile;
use crate::report::{Plot, Table};
use crate::result::LoadResult;
use crate::site::{Site, Style};

/// What the document gave each server; its disk moved 89 MB/s.
const BOX: Allowance =
    Allowance { cores: Some(2), memory_bytes: Some(4 << 30), disk_bytes: Some(89_000_000) };

const INTERVAL_MS: u64 = 10_000;
const FIELDS: u64 = 10;
const CONNECTIONS: u64 = 1000;

/// Intervals of a screen: short, long.
const ROUNDS: (u64, u64) = (1, 30);

/// Longest time to make all series known before a screen: short, long.
const REGISTRATION: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(1800));

/// One way of packing requests, with its search: devices of the first screen, by how much they
/// grow, screens at most, halvings.
#[derive(Clone, Copy)]
struct Variant {
    heading: &'static str,
    /// Devices that share a request.
    together: u64,
    connections: u64,
    first: u64,
    growth: u64,
    screens_max: u32,
    halvings: u32,
}

const SHORT: [Variant; 2] = [
    Variant {
        heading: "A request for each device",
        together: 1,
        connections: CONNECTIONS,
        first: 8_000,
        growth: 4,
        screens_max: 4,
        halvings: 1,
    },
    Variant {
        heading: "A hundred devices share a request",
        together: 100,
        connections: 100,
        first: 400_000,
        growth: 2,
        screens_max: 2,
        halvings: 0,
    },
];

const LONG: [Variant; 2] = [
    Variant { first: 1_000, growth: 2, screens_max: 20, halvings: 5, ..SHORT[0] },
    Variant { first: 100_000, growth: 2, screens_max: 10, halvings: 5, ..SHORT[1] },
];

/// What the screens of one variant found.
struct Found {
    table: Table,
    costs: Table,
    bars: Plot,
    /// Words, or the result whose faults are to be described.
    notes: Vec<(String, Option<LoadResult>)>,
}

pub(super) fn run(run: &mut Run) -> io::Result<()> {
    let sites = run.plan.sites.clone();
    let (_caps, limits) = limits::apply(&sites, BOX);
    for (at, variant) in run.pick(SHORT, LONG).into_iter().enumerate() {
        let heading = variant.heading;
        let first = ["server", "series", "sustained", "offered values/s", "registered in s"];
        let mut found = Found {
            table: write_table(heading, &first),
            costs: cost_table(&format!("{heading}: costs")),
            bars: Plot::bars(&format!("{heading}: series sustained"), "series"),
            notes: Vec::new(),
        };
        for site in &sites {
            search(run, site, variant, &mut found)?;
        }
        references(&mut found.table);
        let rounds = run.pick(ROUNDS.0, ROUNDS.1);
        let section = run.report.section(heading);
        section.say(format!(
            "Each device sends {FIELDS} values every {} s at its own phase{}, over {} connections; \
             latency counts from the planned instant. All series are made known first; then a \
             screen of {rounds} rounds is timed. The document's runs took six hours.",
            INTERVAL_MS / 1000,
            if variant.together > 1 { " (its request's)" } else { "" },
            variant.connections
        ));
        if at == 0 {
            section.tables.push(limits.clone());
        }
        for (what, result) in &found.notes {
            match result {
                Some(result) => Run::faults(section, what, result),
                None => section.say(what.clone()),
            }
        }
        section.tables.extend([found.table, found.costs]);
        section.plots.push(found.bars);
    }
    Ok(())
}

/// Looks for the number of devices that a server sustains.
fn search(run: &mut Run, site: &Site, variant: Variant, found: &mut Found) -> io::Result<()> {
    let (mut sustained, mut failed) = (0, None);
    let mut devices = variant.first;
    for _ in 0..variant.screens_max {
        match screen(run, site, variant, devices, found)? {
            Some(true) => sustained = devices,
            Some(false) => {
                failed = Some(devices);
                break;
            }
            None => return Ok(()),
        }
        devices *= variant.growth;
    }
    for _ in 0..variant.halvings {
        let Some(too_many) = failed else { break };
        // Whole requests on every connection, or phases would drift.
        let grain = variant.together * variant.connections;
        let middle = (sustained + too_many) / 2 / grain * grain;
        if middle <= sustained {
            break;
        }
        match screen(run, site, variant, middle, found)? {
            Some(true) => sustained = middle,
            _ => failed = Some(middle),
        }
    }
    let series = |devices: u64| thousands((devices * FIELDS) as f64);
    found.bars.bar(&site.name, vec![("series".into(), (sustained * FIELDS) as f64)]);
    let edge = match failed {
        Some(failed) => format!("{} were too many", series(failed)),
        None => "the search ended before it failed".to_owned(),
    };
    let words = format!("{}: {} series sustained; {edge}.", site.name, series(sustained));
    found.notes.push((words, None));
    Ok(())
}

/// Offers one number of devices; none when the site has no door for it.
fn screen(
    run: &mut Run,
    site: &Site,
    variant: Variant,
    devices: u64,
    found: &mut Found,
) -> io::Result<Option<bool>> {
    let mut fleet = run.fleet(Profile::Iotdb, devices, FIELDS as usize);
    fleet.shape.interval_ms = INTERVAL_MS as i64;
    let rounds = run.pick(ROUNDS.0, ROUNDS.1);
    let style = [Style::Json, Style::Rows]
        .into_iter()
        .find(|style| site.kind.target(*style).is_some())
        .unwrap_or(Style::Rows);
    let what = format!("{}, {} series", site.name, thousands((devices * FIELDS) as f64));
    let offered = thousands((devices * FIELDS * 1000) as f64 / INTERVAL_MS as f64);
    let before = run.report.right;
    let Some(known) = register(run, site, style, &fleet)? else { return Ok(None) };
    let registered_s = format!("{:.1}", known.write.wall_s);
    if known.write.points_acked < devices * FIELDS {
        // Refusing beyond the maximum is what is looked for.
        run.report.right = before;
        let first = [site.name.clone(), thousands((devices * FIELDS) as f64)];
        let late = ["no".to_owned(), offered, format!("> {registered_s}")];
        let cells = first.into_iter().chain(late).chain(write_cells(&known));
        found.table.row(cells.collect());
        found.notes.push((what, Some(known)));
        return Ok(Some(false));
    }
    let planned = rounds as u32 * Duration::from_millis(INTERVAL_MS);
    let cell = Cell {
        style,
        connections: variant.connections,
        batch: variant.together * lines_of_a_row(style, &fleet),
        steps: 1..1 + rounds,
        pace: Pace::Phased { interval_ms: INTERVAL_MS },
        // Who has not ended a tenth later has fallen behind; no need to see the end of it.
        limit: Some(planned.mul_f64(1.1)),
        reads_per_write: 1.0 / 9.0,
        known_from: Some(0),
        verify: Some(20),
        // A screen that fell behind has failed, whatever it holds.
        only_whole: true,
        settle: false,
        ..Cell::default()
    };
    let Some(result) = run.load(site, &fleet, &cell)? else { return Ok(None) };
    // Refusing beyond the maximum is what is looked for; only wrong answers are faults.
    let verified = result.verification.as_ref().is_none_or(|verdict| verdict.is_right());
    run.report.right = before && verified;
    let whole = result.write.points_acked == devices * FIELDS * rounds;
    let in_time = result.write.intended_latency.p999_ms < INTERVAL_MS as f64
        && result.write.wall_s < planned.as_secs_f64() * 1.05;
    let sustained = result.write.errors.is_empty() && whole && in_time && verified;
    let mut cells = vec![
        site.name.clone(),
        thousands((devices * FIELDS) as f64),
        if sustained { "yes" } else { "no" }.to_owned(),
        offered,
        registered_s,
    ];
    cells.extend(write_cells(&result));
    found.table.row(cells);
    found.costs.rows.extend(cost_row(&what, &result));
    found.notes.push((what, Some(result)));
    Ok(Some(sustained))
}

/// Writes one row of every device, as fast as it goes.
fn register(
    run: &mut Run,
    site: &Site,
    style: Style,
    fleet: &Fleet,
) -> io::Result<Option<LoadResult>> {
    let cell = Cell {
        style,
        connections: 4,
        batch: 1000,
        limit: Some(run.pick(REGISTRATION.0, REGISTRATION.1)),
        verify: None,
        settle: false,
        ..Cell::default()
    };
    run.load(site, fleet, &cell)
}

/// Lines of one device's row in the style.
fn lines_of_a_row(style: Style, fleet: &Fleet) -> u64 {
    if style == Style::Rows { 1 } else { fleet.fields_per_source() }
}

/// The document's figures.
fn references(table: &mut Table) {
    for (server, series, sustained, rate) in [
        ("OpenTSDB 2.4.0", "60 000", "yes", "6 000"),
        ("OpenTSDB 2.4.0", "70 000", "no", "7 000"),
        ("TickTockDB 0.11.7", "4 000 000", "yes", "400 000"),
        ("TickTockDB 0.11.7", "5 000 000", "no", "500 000"),
    ] {
        let mut cells = vec![server, series, sustained, rate];
        cells.extend(["-"; 11]);
        table.reference("seed 000, 2 vCPU, 4 GB, 6 h", &cells);
    }
}
