//! What the command line wants, made of its words: fleets, loads, and where servers are.

use std::io;
use std::time::Duration;

use crate::args::{DataArgs, LoadArgs, PaceName, ServerArgs};
use crate::catalogue::Kind;
use crate::dialect::Language;
use crate::disorder::{Disorder, Shuffle};
use crate::fleet::{Fleet, Shape};
use crate::load::{Load, Reads};
use crate::pace::Pace;
use crate::sender::Wish;
use crate::server::Watched;
use crate::sink;

/// HOST:PORT without what people put around it.
fn address(url: &str) -> String {
    url.trim_start_matches("http://").trim_end_matches('/').to_owned()
}

/// Where the server's costs are read.
pub(crate) fn watched(server: &ServerArgs) -> Watched {
    Watched::new(server.pid, server.data_dir.clone())
}

pub(crate) fn query_address(server: &ServerArgs) -> String {
    address(server.query_url.as_ref().unwrap_or(&server.url))
}

/// The fleet that the command line describes.
pub(crate) fn fleet(data: &DataArgs) -> Fleet {
    let interval = data.interval.map(|interval| interval.as_millis() as i64);
    Fleet::new(Shape {
        profile: data.profile,
        seed: data.seed,
        sources: data.sources.max(1),
        fields: data.fields.unwrap_or(data.profile.fields()),
        start_ms: data.start,
        interval_ms: interval.unwrap_or(data.profile.interval_ms()).max(1),
    })
}

/// The load that the command line describes.
pub(crate) fn plan_load<'a>(args: &LoadArgs, fleet: &'a Fleet) -> io::Result<Load<'a>> {
    let disorder = disorder(&args.data, fleet)?;
    let target = args.server.target;
    let address =
        if target.is_sink() { sink::start(None)?.to_string() } else { address(&args.server.url) };
    let fields = fleet.fields_per_source() as f64 / fleet.tables.len().max(1) as f64;
    let points_per_line = if target.door.format.is_by_row() { fields } else { 1.0 };
    let requests_per_second = args.rate as f64 / (args.batch as f64 * points_per_line);
    let mut batch = args.batch;
    let pace = match args.pace {
        PaceName::Closed => Pace::Closed { think_ms: args.think.as_millis() as u64 },
        PaceName::Fixed => Pace::Fixed { requests_per_second },
        PaceName::Poisson => Pace::Poisson { requests_per_second },
        PaceName::Phased => {
            let rows = fleet.tables.len() as u64;
            batch = if target.door.format.is_by_row() { rows } else { fleet.fields_per_source() };
            Pace::Phased { interval_ms: fleet.shape.interval_ms as u64 }
        }
    };
    Ok(Load {
        fleet,
        disorder,
        target,
        address,
        precision: args.precision.unwrap_or(target.precision(fleet)),
        connections: args.connections.clamp(1, fleet.shape.sources),
        batch,
        steps: steps(&args.data, fleet),
        block: args.data.rows_per_source,
        pace,
        warm_up: args.warm_up,
        limit: args.seconds.map(Duration::from_secs_f64),
        until_enough: false,
        wish: Wish { ack: args.ack.clone(), gzip: args.gzip },
        reads: reads(args),
        progress: !args.quiet,
    })
}

/// The language that the command line chose, or the target's own.
pub(crate) fn language(server: &ServerArgs) -> Option<&'static Language> {
    server.ask.or(server.target.door.language)
}

fn reads(args: &LoadArgs) -> Option<Reads> {
    if args.reads_per_write == 0.0 {
        return None;
    }
    let language = language(&args.server)?;
    let address = query_address(&args.server);
    let kinds =
        if args.read_kinds.is_empty() { Kind::DEVICE.to_vec() } else { args.read_kinds.clone() };
    let per_write = args.reads_per_write;
    let first_step = args.data.first_step;
    Some(Reads { language, address, kinds, per_write, first_step })
}

/// The steps that hold the asked number of values.
pub(crate) fn steps(data: &DataArgs, fleet: &Fleet) -> std::ops::Range<u64> {
    let count = data.steps.unwrap_or(data.points.div_ceil(fleet.series().max(1)));
    data.first_step..data.first_step + count.max(1)
}

/// The disorder that the command line describes.
pub(crate) fn disorder(data: &DataArgs, fleet: &Fleet) -> io::Result<Disorder> {
    let (late, late_steps_max) = data.late.unwrap_or_default();
    let disorder = Disorder {
        shuffle: data.shuffle,
        late,
        late_steps_max,
        delay: data.delay,
        repeated: data.repeat,
        gaps: data.gaps,
        only_gaps: false,
        missing_fields: data.missing_fields,
    };
    if disorder.shuffle == Shuffle::Series && !(disorder.is_tidy() && fleet.separable()) {
        return Err(io::Error::other(
            "--shuffle series goes with tidy rows of independent fields only; drop --late, \
             --repeat, --gaps and --missing-fields, or choose the profile tsbs-cpu",
        ));
    }
    Ok(disorder)
}
