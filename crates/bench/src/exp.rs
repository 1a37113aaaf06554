//! Experiments: one command per published document, each with its table, the document's figures
//! beside ours, and every answer checked. What they share is in `run`; each other file is one
//! document or what several of them draw.

use std::fs;
use std::io;

use clap::ValueEnum;

use crate::latency;
use crate::report::Report;
use crate::say;
use crate::site::Site;

mod cpu_scaling;
mod high_cardinality;
mod limits;
mod max_cardinality;
mod numbers;
mod plots;
mod run;
mod small_box;
mod tables;
mod verify_all;
mod wind_farm;

use run::Run;
pub(crate) use run::{Form, Name, Plan};

/// Runs an experiment and writes its report; false when something was refused or wrong.
pub(crate) fn run(plan: Plan) -> io::Result<bool> {
    let title = plan.name.to_possible_value().map_or(String::new(), |value| {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        format!("{}: {help}", value.get_name())
    });
    let name = plan.name;
    plan.sites.iter().try_for_each(Site::reach)?;
    let mut report = Report::new(&title);
    report.subject = plan.sites.first().map_or(String::new(), |site| site.name.clone());
    report.machine.push(("form".to_owned(), plan.form.name().to_owned()));
    if plan.until_enough {
        let cut = "after 3 s, once the server had used 220 ticks of processor time";
        report.machine.push(("timed cells ended".to_owned(), cut.to_owned()));
    }
    if let Some(most) = plan.series_max {
        report.machine.push(("series at most".to_owned(), most.to_string()));
    }
    report.machine.extend(plan.notes.iter().cloned());
    let mut run = Run::new(plan, report);
    run.disclose();
    let disclosure = run.report.sections.pop().unwrap_or_default();
    match name {
        Name::MaxCardinality => max_cardinality::run(&mut run)?,
        Name::CpuScaling => cpu_scaling::run(&mut run)?,
        Name::SmallBox => small_box::run(&mut run)?,
        Name::WindFarm => wind_farm::run(&mut run)?,
        Name::HighCardinality => high_cardinality::run(&mut run)?,
        Name::VerifyAll => verify_all::run(&mut run)?,
    }
    run.sizes_in_the_end();
    run.gone_note();
    // Last on the page, first in time.
    run.report.sections.push(disclosure);
    run.report.write(&run.plan.out)?;
    fs::write(run.plan.out.join("latency.hlog"), latency::log(&run.latencies)?)?;
    say(&run.report.markdown());
    say(&format!("report: {}", run.plan.out.join("report.html").display()));
    Ok(run.report.right)
}
