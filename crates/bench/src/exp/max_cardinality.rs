//! Maximum cardinality (TickTockDB's report against OpenTSDB on 2 vCPU and 4 GB): every device
//! sends ten values every ten seconds at a phase of its own, one read to nine writes. A number of
//! series is sustained when nothing is refused, nothing falls behind its plan by an interval, and
//! everything asked back is right. The number doubles until it is not, then is halved in on.

use std::io;

use super::{Cell, Run, thousands, write_cells, write_table};
use crate::caps::MemoryCap;
use crate::fleet::Fleet;
use crate::pace::Pace;
use crate::profile::Profile;
use crate::report::{Plot, Table};
use crate::result::LoadResult;
use crate::site::{Site, Style};

/// What the document gave each server.
const CORES: usize = 2;
const MEMORY_BYTES: u64 = 4 << 30;

const INTERVAL_MS: u64 = 10_000;
const FIELDS: u64 = 10;

/// Devices of the first screen, and by how much they grow: short, long.
const DEVICES_FIRST: (u64, u64) = (4_000, 1_000);
const GROWTH: (u64, u64) = (4, 2);

/// Growing screens at most: to a million devices, to half a billion.
const SCREENS_MAX: (u32, u32) = (5, 20);

/// Intervals of a screen.
const ROUNDS: (u64, u64) = (1, 30);

pub(super) fn run(run: &mut Run) -> io::Result<()> {
    let sites = run.plan.sites.clone();
    let first = ["server", "series", "sustained", "offered values/s"];
    let mut table = write_table("Screens", &first);
    let mut bars = Plot::bars("Series sustained", "series");
    let mut notes = Vec::new();
    for site in &sites {
        let bound = site
            .bind_to_cores(CORES)
            .and_then(|()| MemoryCap::apply(site.watched.pid, MEMORY_BYTES));
        if let Err(why) = &bound {
            let words = format!("{}: limits of {CORES} cores, 4 GiB not applied: {why}", site.name);
            notes.push((words, None));
        }
        let (mut sustained, mut failed) = (0, None);
        let mut devices = run.pick(DEVICES_FIRST.0, DEVICES_FIRST.1);
        for _ in 0..run.pick(SCREENS_MAX.0, SCREENS_MAX.1) {
            match screen(run, site, devices, &mut table, &mut notes)? {
                Some(true) => sustained = devices,
                Some(false) => {
                    failed = Some(devices);
                    break;
                }
                None => break,
            }
            devices *= run.pick(GROWTH.0, GROWTH.1);
        }
        for _ in 0..run.pick(1, 5) {
            let Some(too_many) = failed else { break };
            let middle = (sustained + too_many) / 2;
            match screen(run, site, middle, &mut table, &mut notes)? {
                Some(true) => sustained = middle,
                _ => failed = Some(middle),
            }
        }
        bars.bar(&site.name, vec![("series".into(), (sustained * FIELDS) as f64)]);
        let series = thousands((sustained * FIELDS) as f64);
        let edge = match failed {
            Some(failed) => format!("{} were too many", thousands((failed * FIELDS) as f64)),
            None => "the search ended before it failed".to_owned(),
        };
        notes.push((format!("{}: {series} series sustained; {edge}.", site.name), None));
    }
    references(&mut table);
    let rounds = run.pick(ROUNDS.0, ROUNDS.1);
    let section = run.report.section("Maximum cardinality");
    section.say(format!(
        "Each device sends {FIELDS} values in one request every {} s at its own phase; latency \
         counts from the planned instant. A screen is {rounds} rounds long.",
        INTERVAL_MS / 1000
    ));
    for (what, result) in &notes {
        match result {
            Some(result) => Run::faults(section, what, result),
            None => section.say(what.clone()),
        }
    }
    section.tables.push(table);
    section.plots.push(bars);
    Ok(())
}

/// Offers one number of devices; none when the site has no door for it.
fn screen(
    run: &mut Run,
    site: &Site,
    devices: u64,
    table: &mut Table,
    notes: &mut Vec<(String, Option<LoadResult>)>,
) -> io::Result<Option<bool>> {
    let mut fleet = run.fleet(Profile::Iotdb, devices, FIELDS as usize);
    fleet.shape.interval_ms = INTERVAL_MS as i64;
    let rounds = run.pick(ROUNDS.0, ROUNDS.1);
    let style = [Style::Json, Style::Rows]
        .into_iter()
        .find(|style| site.kind.target(*style).is_some())
        .unwrap_or(Style::Rows);
    let cell = Cell {
        style,
        connections: run.pick(32, 1000),
        batch: lines_of_a_row(style, &fleet),
        steps: 0..rounds,
        pace: Pace::Phased { interval_ms: INTERVAL_MS },
        reads_per_write: 1.0 / 9.0,
        verify: Some(20),
        // A screen that fell behind has failed, whatever it holds.
        only_whole: true,
        settle: false,
        ..Cell::default()
    };
    // A server that falls behind by a whole screen has failed; no need to wait for it to end.
    let cell = Cell {
        limit: Some(2 * rounds as u32 * std::time::Duration::from_millis(INTERVAL_MS)),
        ..cell
    };
    let right = run.report.right;
    let Some(result) = run.load(site, &fleet, &cell)? else { return Ok(None) };
    // Refusing beyond the maximum is what is looked for; only wrong answers are faults.
    let verified = result.verification.as_ref().is_none_or(|verdict| verdict.is_right());
    run.report.right = right && verified;
    let planned_s = (rounds * INTERVAL_MS) as f64 / 1000.0;
    let sustained = result.write.errors.is_empty()
        && result.write.intended_latency.p999_ms < INTERVAL_MS as f64
        && result.write.wall_s < planned_s * 1.05
        && verified;
    let mut cells = vec![
        site.name.clone(),
        thousands((devices * FIELDS) as f64),
        if sustained { "yes" } else { "no" }.to_owned(),
        thousands((devices * FIELDS * 1000) as f64 / INTERVAL_MS as f64),
    ];
    cells.extend(write_cells(&result));
    table.row(cells);
    notes.push((format!("{}, {devices} devices", site.name), Some(result)));
    Ok(Some(sustained))
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
        cells.extend(["-"; 9]);
        table.reference("seed 000, 2 vCPU, 4 GB, 6 h", &cells);
    }
}
