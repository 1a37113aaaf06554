//! A store on a simulated disk, written to in plain words.

use foliot_disk::SimDisk;
use foliot_engine::{Config, Engine};
use foliot_model::{Batch, BatchBuffers, Cell, KeyError, KeyParts, KeySyntax, Span};
use std::path::Path;
use std::sync::Arc;

pub(crate) const SECOND: i64 = 1_000_000_000;
pub(crate) const START: i64 = 1_700_002_800;

static SYNTAX: KeySyntax = KeySyntax { id: 250, name: "test", parse, parse_field };

/// `measurement,name=value,..`
fn parse(_: &[u8], key: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    let mut pieces = key.split(|&byte| byte == b',');
    let measurement = pieces.next().unwrap();
    parts.set_measurement(|out| out.extend_from_slice(measurement));
    for pair in pieces {
        let mut sides = pair.split(|&byte| byte == b'=');
        let (name, value) = (sides.next().unwrap(), sides.next().unwrap());
        parts.push_label(|out| out.extend_from_slice(name), |out| out.extend_from_slice(value));
    }
    Ok(())
}

fn parse_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    out.extend_from_slice(raw);
    Ok(())
}

pub(crate) fn open() -> Engine {
    let config = Config { background: false, ..Config::default() };
    Engine::open(Arc::new(SimDisk::new(1)), Path::new("data"), config).unwrap()
}

/// Writes rows of one key and one field: offsets in seconds, and values.
pub(crate) fn write(engine: &Engine, key: &str, field: &str, rows: &[(i64, Cell)]) {
    let text = format!("{key} {field}");
    let secret = engine.key_secret();
    let mut batch = Batch::new(text.as_bytes(), 0, &SYNTAX, secret, BatchBuffers::default());
    let shape = batch.push_shape(&[Span::new(key.len() + 1, text.len())]);
    for (line, &(offset, cell)) in rows.iter().enumerate() {
        batch.push_cell(cell);
        let key = [Span::default(), Span::new(0, key.len())];
        assert!(batch.push_row(key, (START + offset) * SECOND, shape, line as u32 + 1));
    }
    let mut rejects = Vec::new();
    engine.write(&batch, &mut rejects).unwrap();
    assert!(rejects.is_empty(), "{rejects:?}");
}
