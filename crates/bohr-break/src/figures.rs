//! The figures of a breakpoint, whether or not it is compiled in.

/// What became of one breakpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Its name.
    pub name: &'static str,
    /// Threads that came by while it was armed.
    pub visits: u64,
    /// Of these, threads that were held up.
    pub postponements: u64,
    /// Times that all sides met.
    pub hits: u64,
    /// Pauses that ended without a hit.
    pub timeouts: u64,
    /// From the first armed visit of any breakpoint to the first hit of this one.
    pub seconds_to_first_hit: Option<f64>,
    /// Errors that the program has counted.
    pub artefacts: u64,
    /// Seconds since the first armed visit per error; per hit where none was counted.
    pub mean_time_to_error: Option<f64>,
}
