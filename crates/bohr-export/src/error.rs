//! Why a trace could not be exported.

use bohr_event::{Diagnosis, Fault};
use bohr_trace::TraceError;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The file cannot be written.
    #[error("the export cannot be written: {0}")]
    Write(#[from] std::io::Error),
    /// The Parquet library refused.
    #[error("the Parquet file cannot be written: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
}

impl Diagnosis for ExportError {
    fn fault(&self) -> Fault {
        match self {
            ExportError::Trace(error) => error.fault(),
            ExportError::Write(_) | ExportError::Parquet(_) => Fault::Input,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            ExportError::Trace(error) => error.help(),
            ExportError::Write(_) | ExportError::Parquet(_) => {
                Some("look at the space on the disk and the rights of the folder".to_string())
            }
        }
    }
}

impl From<serde_json::Error> for ExportError {
    fn from(error: serde_json::Error) -> ExportError {
        ExportError::Write(error.into())
    }
}
