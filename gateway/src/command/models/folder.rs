//! The models that a user adds: a folder of TOML files.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plainpipe::effect::{Model, ModelError, Models};

use rea_gateway::directories;
use rustix::fs::OFlags;

use crate::command::Failure;

/// The folder, below the user's configuration directory.
const FOLDER: &str = "rea/models";

/// The most bytes that the file of a model may have. The largest shipped one has a twentieth of it.
const MAX_MODEL_BYTES: u64 = 1 << 20;

/// The most faults of one model that are told.
const MAX_FAULTS: usize = 50;

/// The most files that are read.
const MAX_FILES: usize = 1024;

/// A folder of models that cannot be used. Nothing is judged by the rest of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadModels {
    #[error("{}: {source}", path.display())]
    System { path: PathBuf, source: io::Error },
    #[error("{}: others could have written it; it must belong to you or root, and nobody else may write to it", .0.display())]
    NotPrivate(PathBuf),
    #[error("{}: larger than {MAX_MODEL_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
    #[error("{}: more than {MAX_FILES} models", .0.display())]
    TooMany(PathBuf),
    #[error("{}", .0.join("\n     "))]
    Faults(Vec<String>),
}

/// Returns the shipped models and those of the user's folder.
pub(crate) fn models() -> Result<Arc<Models>, Failure> {
    let folder = directories::config();
    let mut models = Models::shipped();
    if let Some(folder) = folder.map(|folder| folder.join(FOLDER)) {
        add(&mut models, &folder).map_err(|error| Failure::new("reading your models", error))?;
    }
    Ok(Arc::new(models))
}

/// Adds the models of the `*.toml` files in `folder`, in the order of their names.
fn add(models: &mut Models, folder: &Path) -> Result<(), BadModels> {
    let failed = |source| BadModels::System {
        path: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    check_private(folder, &fs::metadata(folder).map_err(failed)?)?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            return Err(BadModels::TooMany(folder.to_owned()));
        }
    }
    files.sort();
    for path in files {
        let text = read(&path)?;
        let (model, faults) = checked(&text);
        match model {
            Some(model) if faults.is_empty() => models.add(model, path.display().to_string()),
            Some(_) | None => {
                let faults = faults.iter().map(|fault| told(&path, &text, fault));
                return Err(BadModels::Faults(faults.collect()));
            }
        }
    }
    Ok(())
}

/// Returns the text of a model that nobody else could have written.
fn read(path: &Path) -> Result<String, BadModels> {
    let (text, metadata) = text_of(path)?;
    check_private(path, &metadata)?;
    Ok(text)
}

/// Returns the text of a plain file; what is none, such as a pipe, is an error and not waited for.
pub(super) fn text_of(path: &Path) -> Result<(String, Metadata), BadModels> {
    let failed = |source| BadModels::System {
        path: path.to_owned(),
        source,
    };
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(io::Error::other("is not a plain file")));
    }
    let mut text = String::new();
    let read = file.take(MAX_MODEL_BYTES + 1).read_to_string(&mut text);
    read.map_err(failed)?;
    if text.len() as u64 > MAX_MODEL_BYTES {
        return Err(BadModels::TooLarge(path.to_owned()));
    }
    Ok((text, metadata))
}

fn check_private(path: &Path, metadata: &Metadata) -> Result<(), BadModels> {
    let us = rustix::process::geteuid().as_raw();
    let private = (metadata.uid() == us || metadata.uid() == 0) && metadata.mode() & 0o022 == 0;
    private
        .then_some(())
        .ok_or_else(|| BadModels::NotPrivate(path.to_owned()))
}

/// Returns the model in a text, and its first faults.
pub(super) fn checked(text: &str) -> (Option<Model>, Vec<ModelError>) {
    match Model::from_toml(text) {
        Ok(model) => {
            let mut faults = model.check();
            faults.truncate(MAX_FAULTS);
            (Some(model), faults)
        }
        Err(fault) => (None, vec![fault]),
    }
}

/// Returns a fault with its file and line.
pub(super) fn told(path: &Path, text: &str, fault: &ModelError) -> String {
    format!("{}:{}: {fault}", path.display(), fault.line_in(text))
}
