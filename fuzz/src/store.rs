//! Stores on a simulated disk: one to write to, one to ask, one whose files are changed.

use foliot_disk::SimDisk;
use foliot_engine::{Ack, Caller, Config, Engine};
use foliot_exec::{Cancel, Limits, Meter, Query};
use foliot_model::{
    Batch, BatchBuffers, Bucket, Cell, Histogram, KeySyntax, Kind, Reject, Selector, Span,
    TimeRange,
};
use foliot_proto_influx::{Decoder, LINE_SYNTAX, Precision, Settings};
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const DIR: &str = "store";
/// The wall clock of the simulated disk when it is new, in milliseconds.
pub(crate) const NOW_MS: i64 = 1_700_000_000_000;

/// A store takes so many inputs before a new one takes its place, so that memory stays bounded.
const INPUTS_MAX: u32 = 500;

pub(crate) fn open(disk: &SimDisk) -> Result<Engine, foliot_engine::Error> {
    let config = Config { background: false, merge_parts: 2, ..Config::default() };
    Engine::open(Arc::new(disk.clone()), Path::new(DIR), config)
}

/// Decodes `bytes` by `decode` and writes what it decoded, into a store that was used before.
pub(crate) fn take<T>(
    bytes: &[u8],
    syntax: &'static KeySyntax,
    decode: impl FnOnce(&mut Batch<'_>, &mut Vec<Reject>) -> T,
) -> T {
    thread_local! {
        static STORE: RefCell<Option<(Engine, u32)>> = const { RefCell::new(None) };
    }
    STORE.with_borrow_mut(|held| {
        if held.as_ref().is_none_or(|(_, inputs)| *inputs >= INPUTS_MAX) {
            *held = Some((open(&SimDisk::new(1)).expect("a new store opens"), 0));
        }
        let (engine, inputs) = held.as_mut().expect("it was made");
        *inputs += 1;
        write(engine, 0, bytes, syntax, decode)
    })
}

fn write<T>(
    engine: &Engine,
    namespace: u32,
    bytes: &[u8],
    syntax: &'static KeySyntax,
    decode: impl FnOnce(&mut Batch<'_>, &mut Vec<Reject>) -> T,
) -> T {
    let buffers = BatchBuffers::default();
    let mut batch = Batch::new(bytes, namespace, syntax, engine.key_secret(), buffers);
    let mut rejects = Vec::new();
    let decoded = decode(&mut batch, &mut rejects);
    if let Ok(commit) = engine.write(&batch, &mut rejects) {
        engine.wait(commit, Ack::Os).expect("a simulated disk takes everything");
    }
    decoded
}

/// Writes Influx lines with times in seconds.
pub(crate) fn write_lines(engine: &Engine, namespace: u32, text: &str) {
    let settings =
        Settings { precision: Precision::Second, now_ns: 0, first_line: 1, is_partial: false };
    write(engine, namespace, text.as_bytes(), &LINE_SYNTAX, |batch, rejects| {
        Decoder::default().decode(batch, settings, rejects);
        assert_eq!(rejects, &[], "the store's own lines are good");
    });
}

/// Lines of a small fleet: floats, integers, texts and booleans over an hour before now.
pub(crate) fn fleet(from: i64, to: i64) -> String {
    let mut text = String::new();
    for step in from..to {
        let time_s = NOW_MS / 1000 - 3600 + step * 10;
        for host in 0..3 {
            let idle = 90 + (step * 7 + host) % 10;
            text.push_str(&format!("sys.cpu,host=web{host},dc=lga idle={idle}.5 {time_s}\n"));
            text.push_str(&format!(
                "cpu,host=h{host} usage={}.25,n={step}i,up={},note=\"s{step}\" {time_s}\n",
                step % 13,
                step % 2 == 0
            ));
            text.push_str(&format!("m,t=a{host} value={} {time_s}\n", step * host));
        }
    }
    text
}

/// Writes native histograms called `latency`: growing, of two schemas, begun anew once, and of
/// custom bounds in a series of its own.
fn write_histograms(engine: &Engine) {
    let key = b"\x0a\x13\x0a\x08__name__\x12\x07latency";
    let other = b"\x0a\x08\x0a\x03job\x12\x01b";
    let bytes = [&key[..], other].concat();
    write(engine, 0, &bytes, &foliot_proto_prometheus::KEY_SYNTAX, |batch, _| {
        let field = batch.push_scratch(|out| out.extend_from_slice(b"value"));
        let shape = batch.push_shape(&[field]);
        for step in 0..90_i32 {
            let count = f64::from(step % 50);
            let bucket = |index| Bucket { index, count };
            let exponential = Histogram {
                schema: if step < 30 { 3 } else { 1 },
                zero_threshold: 0.001,
                zero_count: count,
                count: count * 4.0,
                sum: count * 2.5,
                positive: vec![bucket(-2), bucket(1 + step / 40)],
                negative: vec![bucket(0)],
                ..Histogram::default()
            };
            let custom = Histogram {
                schema: Histogram::CUSTOM,
                count: count * 2.0,
                positive: vec![bucket(0), bucket(2)],
                bounds: [0.5, 2.0].into(),
                ..Histogram::default()
            };
            let time_ns = (NOW_MS - 3_600_000 + i64::from(step) * 10_000) * 1_000_000;
            for (end, histogram) in [(key.len(), exponential), (bytes.len(), custom)] {
                let span = batch.push_scratch(|out| histogram.write(out));
                batch.push_cell(Cell::bytes(Kind::Histogram, span));
                batch.push_row([Span::default(), Span::new(0, end)], time_ns, shape, 1);
            }
        }
    });
}

/// Lends a small store to a question, with what one question may take.
pub(crate) fn ask<T>(asks: impl FnOnce(&Query<'_>) -> T) -> T {
    thread_local! {
        static STORE: Engine = {
            let engine = open(&SimDisk::new(1)).expect("a new store opens");
            write_lines(&engine, 0, &fleet(0, 60));
            write_histograms(&engine);
            engine.flush().expect("a simulated disk takes everything");
            write_lines(&engine, 0, &fleet(50, 90));
            engine
        };
    }
    STORE.with(|engine| {
        let limits = Limits {
            memory_bytes: 16 << 20,
            samples: 1_000_000,
            series: 1000,
            ids: usize::MAX,
            seconds: Duration::from_secs(2),
            threads: 1,
        };
        asks(&Query { snapshot: &engine.snapshot(), meter: Meter::new(limits, Cancel::default()) })
    })
}

/// All series of a namespace called `measurement`; of all names when that is empty.
pub(crate) fn selector(namespace: u32, measurement: &str) -> Selector {
    let name = |measurement| foliot_model::Name {
        measurement: foliot_model::Test::equal(measurement),
        field: foliot_model::Test::Any,
    };
    let names = if measurement.is_empty() { Vec::new() } else { vec![name(measurement)] };
    Selector { namespace, names, matchers: Vec::new(), exact_labels: None, only: None }
}

/// A store with files of every kind: parts of several levels, a closed epoch, a catalog, deletes,
/// and a wal of several frames.
pub(crate) fn of_all_files() -> SimDisk {
    let disk = SimDisk::new(1);
    let engine = open(&disk).expect("a new store opens");
    let caller = Caller::default();
    let good = "a simulated disk takes everything";
    engine.create_namespace("other", "month").expect(good);
    for round in 0..4 {
        write_lines(&engine, 0, &fleet(round * 20, round * 20 + 20));
        write_lines(&engine, 1, &format!("o,k=v{round} a={round} 1699999000\n"));
        engine.catalog_put("note", &format!("key {round}"), b"a fact").expect(good);
        if round == 1 {
            engine.begin_epoch().expect(good);
        }
        engine.flush().expect(good);
    }
    while engine.maintain().expect(good) {}
    engine.begin_epoch().expect(good);
    write_lines(&engine, 0, &fleet(80, 90));
    engine.flush().expect(good);
    engine
        .delete(&selector(0, "cpu"), TimeRange::new(0, (NOW_MS - 3_000_000) * 1_000_000), &caller)
        .expect(good);
    engine.drop_series(&selector(1, "o"), &caller).expect(good);
    engine.flush().expect(good);
    write_lines(&engine, 0, &fleet(90, 95));
    engine.delete(&selector(0, "m"), TimeRange::ALL, &caller).expect(good);
    write_lines(&engine, 0, &fleet(95, 97));
    engine.close().expect(good);
    disk
}
