//! What the benches of all runtimes have in common: the list of primitives, how long each is measured, and where the
//! figures go. It links no runtime.
//!
//! A runtime crate has `benches/primitives.rs`, which fills in [`Primitives`] in its library's own words:
//!
//! ```no_run
//! use std::time::Instant;
//!
//! use primitive_benches::{Primitives, batches, measured};
//!
//! primitive_benches::run("runtime-made-up", Primitives {
//!     spawn_join: measured(|operations| {
//!         let began = Instant::now();
//!         for batch in batches(operations) {
//!             let tasks: Vec<_> = (0..batch).map(|_| std::thread::spawn(|| ())).collect();
//!             tasks.into_iter().for_each(|task| task.join().expect("it does nothing"));
//!         }
//!         began.elapsed()
//!     }),
//!     ..Primitives::refused("not written yet")
//! });
//! ```
//!
//! Each carries out as many operations as it is told and hands back the time that they took together: threads,
//! executors and channels are made before its clock begins. So Criterion's figure for an iteration is that of one
//! operation. Of a timer it is not the time taken but the lateness: the sum of what the waits took beyond what was
//! asked for.
//!
//! `cargo bench -p runtime-tokio` measures, and `bench-harness report DIR --benches target/criterion` takes the figures
//! into a run's report. `cargo test` carries out a few operations of each, so that they do not rot.

mod apart;
mod record;

use std::env;
use std::time::Duration;

use criterion::Criterion;
use execution_model::tell;
use workload::Primitive;

pub use apart::{Apart, is_apart, serve};
pub use workload::{CHANNEL_CAPACITY, SPAWN_BATCH, batches, wait};

/// Six primitives and seven runtimes come to less than two minutes.
const WARM_UP: Duration = Duration::from_millis(500);
const MEASUREMENT: Duration = Duration::from_millis(1_800);
/// Samples of a primitive. Their sizes grow, so that what is paid once a sample does not count.
const SAMPLES: usize = 30;

/// How many operations `cargo test` carries out of each: more than a batch.
const OPERATIONS_OF_A_TEST: u64 = 100;

/// What one execution model does of each primitive.
pub struct Primitives<'a> {
    /// [`Primitive::SpawnJoin`]
    pub spawn_join: Support<'a>,
    /// [`Primitive::Switch`]
    pub switch: Support<'a>,
    /// [`Primitive::Wake`]
    pub wake: Support<'a>,
    /// [`Primitive::Hop`]
    pub hop: Support<'a>,
    /// [`Primitive::Offload`]
    pub offload: Support<'a>,
    /// [`Primitive::Lateness`]
    pub lateness: Support<'a>,
}

/// A primitive of a model.
pub enum Support<'a> {
    /// Carries out so many operations, and hands back the time that they took together.
    Measured(Box<dyn FnMut(u64) -> Duration + 'a>),
    /// The model has no such thing, and why.
    Refused(&'static str),
}

/// A primitive that is measured: `operations` carries out so many, and hands back the time that they took together.
pub fn measured<'a>(operations: impl FnMut(u64) -> Duration + 'a) -> Support<'a> {
    Support::Measured(Box::new(operations))
}

impl Primitives<'_> {
    /// None of them, for one reason.
    #[must_use]
    pub fn refused(reason: &'static str) -> Primitives<'static> {
        let refused = || Support::Refused(reason);
        Primitives {
            spawn_join: refused(),
            switch: refused(),
            wake: refused(),
            hop: refused(),
            offload: refused(),
            lateness: refused(),
        }
    }
}

impl<'a> Primitives<'a> {
    fn take(&mut self, primitive: Primitive) -> Support<'a> {
        let support = match primitive {
            Primitive::SpawnJoin => &mut self.spawn_join,
            Primitive::Switch => &mut self.switch,
            Primitive::Wake => &mut self.wake,
            Primitive::Hop => &mut self.hop,
            Primitive::Offload => &mut self.offload,
            Primitive::Lateness => &mut self.lateness,
        };
        std::mem::replace(support, Support::Refused("taken"))
    }
}

/// Measures what is measured, and records what is refused. `package` is the runtime crate's name.
///
/// The command line is Criterion's. Where it has no `--bench`, which `cargo bench` gives, a few operations of each are
/// carried out and nothing is measured.
pub fn run(package: &str, mut primitives: Primitives<'_>) {
    let runtime = package.strip_prefix("runtime-").unwrap_or(package);
    if !env::args().any(|argument| argument == "--bench") {
        return test(primitives);
    }
    let home = record::home();
    let mut criterion = Criterion::default()
        .sample_size(SAMPLES)
        .warm_up_time(WARM_UP)
        .measurement_time(MEASUREMENT)
        .output_directory(&home)
        .configure_from_args();
    let mut group = criterion.benchmark_group(runtime);
    for primitive in Primitive::ALL {
        match primitives.take(primitive) {
            Support::Measured(mut operations) => {
                group.bench_function(primitive.id(), |bencher| bencher.iter_custom(&mut operations));
            }
            Support::Refused(reason) => {
                tell(format_args!("{runtime}/{}: refused: {reason}", primitive.id()));
                if let Err(error) = record::refusal(&home, runtime, primitive, reason) {
                    tell(format_args!("warning: that cannot be recorded in {}: {error}", home.display()));
                }
            }
        }
    }
    group.finish();
    criterion.final_summary();
}

fn test(mut primitives: Primitives<'_>) {
    if env::args().any(|argument| argument == "--list") {
        return;
    }
    for primitive in Primitive::ALL {
        if let Support::Measured(mut operations) = primitives.take(primitive) {
            for count in [1, 2, OPERATIONS_OF_A_TEST] {
                operations(count);
            }
        }
    }
}
