//! The files that have a schema, by their names on the command line.

/// What the harness writes or reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Document {
    /// The record of a run
    Run,
    /// A row: one line of the rows of a run
    Row,
    /// The figures of every cell over its repetitions
    Summary,
    /// What the primitives cost, as report --benches takes it into a run
    Benches,
    /// The judgement of aa, with the noise floor
    Aa,
    /// What compare --format json prints
    Comparison,
    /// What threads --format json prints
    Threads,
    /// What a runner says of itself: one line
    Runner,
    /// The values of experiments, in the place of those that are compiled in
    Experiments,
}
