//! The faults that there are.

/// What is wrong with a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing: the suite must pass it.
    None,
    /// A wait is counted and not waited.
    SkipsWait,
    /// A wait begins when the one before it is over, whoever waits.
    WaitsOneByOne,
    /// A compute step does one round of its many.
    SkipsCompute,
    /// Every tenth request is dropped without a word.
    LosesRequests,
    /// The steps are done, and the checksum is not theirs.
    LiesAboutChecksum,
    /// Each request has a thread, and the description says that none has.
    HidesThreads,
    /// A request that panics is told as completed.
    SwallowsPanic,
    /// Who meets a panic says so, and works no more.
    DiesOfAPanic,
    /// A limit of what is in flight is declared, and there is none.
    IgnoresItsOwnLimit,
    /// The server admits more than it was told to.
    IgnoresInFlightLimit,
    /// `stop` ends everything at once and calls it drained.
    DoesNotDrain,
    /// `stop` waits for what is in flight, however long that takes.
    IgnoresDeadline,
    /// A connection is served one request and closed.
    ClosesConnections,
    /// A refused head's connection is closed with bytes unread, which resets it.
    ResetsLongHeads,
    /// Two threads carry handlers out by the description, and each request has its own.
    OffloadsInSecret,
    /// It claims to offload, and one request holds all others up.
    OffloadsNothing,
    /// Nobody takes note of ticks.
    ShowsNoLag,
    /// Ticks are noted by a thread that no request holds up, and the description says that requests share threads.
    ShowsAnothersLag,
    /// A process outlives the server that started it.
    LeavesAProcess,
    /// A client may take as long as it likes to take an answer.
    WritesForEver,
    /// Any limit will do.
    TakesAnyLimit,
    /// What it says must be heard, or it ends.
    NeedsStandardError,
    /// Blocks are offloaded to as many threads as there are blocks, however few it is given.
    IgnoresOffloadThreads,
    /// A pipeline that has had no image waits for its first, also when it is to end.
    WaitsForAnImage,
}

impl Fault {
    pub(crate) const ALL: [Fault; 25] = [
        Fault::None,
        Fault::SkipsWait,
        Fault::WaitsOneByOne,
        Fault::SkipsCompute,
        Fault::LosesRequests,
        Fault::LiesAboutChecksum,
        Fault::HidesThreads,
        Fault::SwallowsPanic,
        Fault::DiesOfAPanic,
        Fault::IgnoresItsOwnLimit,
        Fault::IgnoresInFlightLimit,
        Fault::DoesNotDrain,
        Fault::IgnoresDeadline,
        Fault::ClosesConnections,
        Fault::ResetsLongHeads,
        Fault::OffloadsInSecret,
        Fault::OffloadsNothing,
        Fault::ShowsNoLag,
        Fault::ShowsAnothersLag,
        Fault::LeavesAProcess,
        Fault::WritesForEver,
        Fault::TakesAnyLimit,
        Fault::NeedsStandardError,
        Fault::IgnoresOffloadThreads,
        Fault::WaitsForAnImage,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Fault::None => "none",
            Fault::SkipsWait => "skips-wait",
            Fault::WaitsOneByOne => "waits-one-by-one",
            Fault::SkipsCompute => "skips-compute",
            Fault::LosesRequests => "loses-requests",
            Fault::LiesAboutChecksum => "lies-about-checksum",
            Fault::HidesThreads => "hides-threads",
            Fault::SwallowsPanic => "swallows-panic",
            Fault::DiesOfAPanic => "dies-of-a-panic",
            Fault::IgnoresItsOwnLimit => "ignores-its-own-limit",
            Fault::IgnoresInFlightLimit => "ignores-in-flight-limit",
            Fault::DoesNotDrain => "does-not-drain",
            Fault::IgnoresDeadline => "ignores-deadline",
            Fault::ClosesConnections => "closes-connections",
            Fault::ResetsLongHeads => "resets-long-heads",
            Fault::OffloadsInSecret => "offloads-in-secret",
            Fault::OffloadsNothing => "offloads-nothing",
            Fault::ShowsNoLag => "shows-no-lag",
            Fault::ShowsAnothersLag => "shows-anothers-lag",
            Fault::LeavesAProcess => "leaves-a-process",
            Fault::WritesForEver => "writes-for-ever",
            Fault::TakesAnyLimit => "takes-any-limit",
            Fault::NeedsStandardError => "needs-standard-error",
            Fault::IgnoresOffloadThreads => "ignores-offload-threads",
            Fault::WaitsForAnImage => "waits-for-an-image",
        }
    }
}
