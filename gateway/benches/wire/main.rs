//! What the gateway costs: the same server asked directly, through `rea serve`, through the wire alone, through a
//! proxy made of the Rust SDK, and through a relay of bytes, in turns within one run.
//!
//! ```sh
//! cargo bench -p rea-gateway --profile release --bench wire            # prints the tables
//! cargo bench -p rea-gateway --profile release --bench wire -- --write # and puts them into BENCHMARKS.md
//! ```
//!
//! With `--test` everything runs once and nothing is measured. The proxy is looked for in the folder that
//! `REA_PEERS` names, where `tests/real/install` puts it; without one its lines are left out.
#![expect(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::print_stdout,
    reason = "a bench may panic, print and round"
)]

mod inside;
mod lane;
mod measure;
mod report;
mod server;

use std::env;

use self::measure::Effort;

fn main() {
    let mut arguments = env::args().skip(1);
    let first = arguments.next().unwrap_or_default();
    let mut next = || arguments.next().unwrap();
    match first.as_str() {
        "__echo" => server::echo(),
        "__relay" => server::relay(&arguments.collect::<Vec<_>>()),
        "__wire" => inside::wire(next().as_ref()),
        "__chain" => {
            let root = next();
            inside::chain(root.as_ref(), next() == "synced");
        }
        _ => {
            let given: Vec<String> = env::args().skip(1).collect();
            let effort = if given.iter().any(|given| given == "--test") {
                Effort::ONCE
            } else {
                Effort::FULL
            };
            let tables = report::tables(&measure::all(effort));
            println!("{tables}");
            if given.iter().any(|given| given == "--write") {
                report::write(&tables);
            }
        }
    }
}
