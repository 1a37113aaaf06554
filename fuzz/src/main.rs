//! libFuzzer's process, for the target named by `FUZZ_TARGET`. `tools/fuzz` starts it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::OnceLock;

static TARGET: OnceLock<&foliot_fuzz::Target> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let Some(target) = foliot_fuzz::target(&name) else {
            eprintln!("FUZZ_TARGET is one of:");
            foliot_fuzz::TARGETS.iter().for_each(|target| eprintln!("  {}", target.name));
            std::process::exit(2);
        };
        let _ = TARGET.set(target);
        if let Ok(dir) = std::env::var("FUZZ_SEEDS") {
            for (number, seed) in target.seeds().iter().enumerate() {
                let path = Path::new(&dir).join(format!("seed-{number}"));
                std::fs::write(path, seed).expect("the folder of seeds can be written");
            }
        }
    },
    |data: &[u8]| {
        if let Some(target) = TARGET.get() {
            (target.run)(data);
        }
    }
);
