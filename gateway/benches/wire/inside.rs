//! Parts of the gateway by themselves: the wire without a chain, and the chain with or without syncs.

use std::{
    fs::File,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rea_gateway::{
    audit::{Audit, Disk, RealDisk, Settings},
    child::{Journal, Surroundings},
    gate::Gate,
    layer::{Chain as Layers, GrantFile, KillSwitch, Machines, Parts},
    policy::{self, Live},
    registry::{self, Registry},
    wire::{
        chain::{Answer, Call, Chain, Execute, Later},
        hub::Hub,
        launch,
        outlet::outlet,
        serve, stdio,
    },
};

/// Lets every call through.
struct Open;

impl Chain for Open {
    fn answer(&self, call: Call, execute: Execute) -> Later<Answer> {
        execute(call)
    }
}

/// Serves the project at `root` without a chain.
pub(crate) fn wire(root: &Path) {
    let registry = Registry::load(&root.join(registry::FILE)).unwrap();
    run(root, &registry, Arc::new(Open));
}

/// Serves it with the chain; with or without syncs, which are counted in the file `syncs`.
pub(crate) fn chain(root: &Path, synced: bool) {
    let registry = Registry::load(&root.join(registry::FILE)).unwrap();
    let disk = Arc::new(Counting {
        synced,
        syncs: AtomicU64::new(0),
    });
    let settings = Settings {
        disk: Arc::clone(&disk) as Arc<dyn Disk>,
        ..Settings::new(root.join("state"))
    };
    let notify: policy::Notify = Arc::new(|_| ());
    let machines = Machines::new(
        &registry,
        root,
        &std::env::vars_os().collect(),
        GrantFile::default(),
    );
    let layers = Layers::new(Parts {
        machines,
        kill_switch: KillSwitch::of_project(root),
        policy: Live::open(root.join(policy::PATH_IN_PROJECT), Arc::clone(&notify)).unwrap(),
        registry: registry.clone(),
        recorder: Audit::open(root, settings).unwrap(),
        session: "bench".to_owned(),
        notify,
    });
    let gate = Gate::new(Arc::new(layers), Arc::new(Vec::new));
    run(root, &registry, Arc::new(gate));
    let syncs = disk.syncs.load(Ordering::Relaxed).to_string();
    std::fs::write(root.join("syncs"), syncs).unwrap();
}

fn run(root: &Path, registry: &Registry, chain: Arc<dyn Chain>) {
    let journal = Journal::to(io::sink()).unwrap();
    let mut surroundings = Surroundings::new(root, std::env::vars_os().collect(), journal);
    surroundings.program = env!("CARGO_BIN_EXE_rea").into();
    let (client, writer) = outlet();
    let links = launch::links(registry, &Arc::new(surroundings));
    let hub = Hub::new(links, client, chain, Box::new(|_| ()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime
        .block_on(async { serve::serve(&hub, writer, stdio::input(), stdio::output()).await })
        .unwrap();
}

/// A disk that counts syncs, and leaves them out unless it is told otherwise.
#[derive(Debug)]
struct Counting {
    synced: bool,
    syncs: AtomicU64,
}

impl Disk for Counting {
    fn create(&self, path: &Path) -> io::Result<File> {
        RealDisk.create(path)
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        RealDisk.append(file, bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        if self.synced {
            RealDisk.sync(file)?;
        }
        Ok(())
    }

    fn cut(&self, file: &File, length: u64) -> io::Result<()> {
        RealDisk.cut(file, length)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        RealDisk.sync_directory(path)
    }
}
