//! TSBS's thirteen questions about trucks (github.com/timescale/tsbs, use case `iot`), in one sense
//! for all languages: the original's differ from server to server. Windows are half-open and
//! aligned to ten minutes; "newest" is the newest row whenever it came; a session is a run of
//! ten-minute bins with a mean speed above 1; what depends on a number in a label (capacity,
//! nominal consumption) is told per value of that label, so that a reader can divide.

use super::kind::Kind;
use crate::oracle::Oracle;
use crate::profile::trucks::FLEETS;
use crate::question::{Ask, BIN_MS, Bins, DAY_MS, Question, Sources, Told, Trucks};
use crate::random::Draws;

/// Where fields stand in the two tables.
const READINGS: usize = 0;
const LATITUDE: usize = 0;
const LONGITUDE: usize = 1;
const VELOCITY: usize = 3;
const FUEL_CONSUMPTION: usize = 6;
const DIAGNOSTICS: usize = 1;
const FUEL_STATE: usize = 0;
const CURRENT_LOAD: usize = 1;
const STATUS: usize = 2;

const HOUR_MS: i64 = 3_600_000;

/// Draws a question of an iot kind.
pub(super) fn question(kind: Kind, oracle: &Oracle<'_>, draws: &mut Draws) -> Question {
    let any = draws.below(FLEETS.len() as u64) as usize;
    let of_fleet = Sources::Labelled("fleet", FLEETS.get(any).copied().unwrap_or_default());
    let driving = |by, told| Ask::Trucks(Trucks::Bins(Bins { by, above: true, told }));
    let mean = |by, moving| Ask::Trucks(Trucks::Mean { by, moving });
    let at_least = |at_least| Told::Count { at_least };
    let truck: &[&str] = &["name"];
    let (table, fields, sources, ask) = match kind {
        Kind::SingleLastLoc => {
            let one = Sources::These(oracle.some(1, draws.bits()));
            (READINGS, vec![LATITUDE, LONGITUDE], one, Ask::Last)
        }
        Kind::LastLoc => (READINGS, vec![LATITUDE, LONGITUDE], of_fleet, Ask::Last),
        Kind::LowFuel => {
            let ask = Ask::Trucks(Trucks::LastBelow(0.1));
            (DIAGNOSTICS, vec![FUEL_STATE], of_fleet, ask)
        }
        Kind::HighLoad => {
            let ask = Ask::Trucks(Trucks::LastShare(0.9, "load_capacity"));
            (DIAGNOSTICS, vec![CURRENT_LOAD], of_fleet, ask)
        }
        Kind::StationaryTrucks => {
            let ask = Bins { by: truck, above: false, told: at_least(1) };
            (READINGS, vec![VELOCITY], of_fleet, Ask::Trucks(Trucks::Bins(ask)))
        }
        Kind::LongDrivingSessions => {
            (READINGS, vec![VELOCITY], of_fleet, driving(truck, at_least(23)))
        }
        Kind::LongDailySessions => {
            (READINGS, vec![VELOCITY], of_fleet, driving(truck, at_least(61)))
        }
        Kind::AvgVsProjectedFuelConsumption => {
            let ask = mean(&["fleet", "nominal_fuel_consumption"], Some(VELOCITY));
            (READINGS, vec![FUEL_CONSUMPTION], Sources::All, ask)
        }
        Kind::AvgDailyDrivingDuration => {
            (READINGS, vec![VELOCITY], Sources::All, driving(truck, Told::PerDay))
        }
        Kind::AvgDailyDrivingSession => {
            (READINGS, vec![VELOCITY], Sources::All, driving(truck, Told::Breaks))
        }
        Kind::AvgLoad => {
            let ask = mean(&["fleet", "load_capacity"], None);
            (DIAGNOSTICS, vec![CURRENT_LOAD], Sources::All, ask)
        }
        Kind::DailyActivity => {
            let ask = Bins { by: &["fleet", "model"], above: false, told: Told::PerDay };
            (DIAGNOSTICS, vec![STATUS], Sources::All, Ask::Trucks(Trucks::Bins(ask)))
        }
        _ => (DIAGNOSTICS, vec![STATUS], Sources::All, driving(&["model"], Told::Breaks)),
    };
    let (from_ms, to_ms) = window(kind, oracle, draws);
    Question { table, fields, sources, from_ms, to_ms, ask }
}

/// A window of the kind's length at a random place of the data.
fn window(kind: Kind, oracle: &Oracle<'_>, draws: &mut Draws) -> (i64, i64) {
    let begin = oracle.fleet.time_ms(oracle.first_step);
    let end = oracle.fleet.time_ms(oracle.end_step);
    let length = match kind {
        Kind::StationaryTrucks => BIN_MS,
        Kind::LongDrivingSessions => 4 * HOUR_MS,
        Kind::LongDailySessions | Kind::AvgDailyDrivingSession => DAY_MS,
        _ => end - begin,
    };
    let room = ((end - begin - length) / BIN_MS).max(0) as u64 + 1;
    let from = begin + draws.below(room) as i64 * BIN_MS;
    let from = from - from.rem_euclid(BIN_MS);
    (from, from + length)
}
