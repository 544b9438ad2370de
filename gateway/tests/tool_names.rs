//! Holds the tiers of tool names to a table.

use rea_gateway::{layer::tool_name::judge, policy::Tier};

#[test]
fn every_name_has_the_tier_of_the_table() {
    let (mut rows, mut wrong) = (0, Vec::new());
    for row in include_str!("data/tool_names.tsv").lines() {
        if row.is_empty() || row.starts_with('#') {
            continue;
        }
        let mut cells = row.split('\t');
        let [server, tool, tier] = std::array::from_fn(|_| cells.next().unwrap());
        let sign = judge(server, tool);
        if sign.tier() != tier.parse::<Tier>().unwrap() {
            wrong.push(format!(
                "{server} {tool}: want {tier}, got {} ({sign})",
                sign.tier()
            ));
        }
        rows += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows >= 300, "only {rows} rows");
}
