//! The workspace's invariants, each an absence, each found by a function over the text of the tree.
//!
//! Every rule has a planted violation, so that a rule which can no longer fail is found too.

mod dependencies;
mod layout;
mod manifests;
mod source;
mod tree;

use tree::Tree;

/// One invariant.
struct Rule {
    name: &'static str,
    /// Why it is one: what a reader who breaks it is told.
    why: &'static str,
    /// The violations, each with its place.
    find: fn(&Tree) -> Vec<String>,
    /// A tree that breaks the rule and, where it can, keeps it beside that.
    planted: &'static [(&'static str, &'static str)],
}

fn rules() -> impl Iterator<Item = &'static Rule> {
    [dependencies::RULES, source::RULES, layout::RULES, manifests::RULES].into_iter().flatten()
}

#[test]
fn the_tree_is_tidy() {
    let tree = Tree::load();
    let report: Vec<String> = rules()
        .filter_map(|rule| {
            let found = (rule.find)(&tree);
            (!found.is_empty()).then(|| format!("{}: {}\n  {}", rule.name, rule.why, found.join("\n  ")))
        })
        .collect();
    assert!(report.is_empty(), "\n{}", report.join("\n\n"));
}

#[test]
fn every_rule_finds_its_planted_violation_and_nothing_in_an_empty_tree() {
    for rule in rules() {
        let found = (rule.find)(&Tree::of(rule.planted));
        assert_eq!(found.len(), 1, "{}: {found:?}", rule.name);
        assert_eq!((rule.find)(&Tree::of(&[])), Vec::<String>::new(), "{}", rule.name);
    }
}

#[test]
fn the_loaded_tree_is_the_whole_one() {
    let tree = Tree::load();
    for path in ["Cargo.lock", "crates/workload/src/lib.rs", "bench-harness/src/main.rs"] {
        assert!(tree.text(path).is_some(), "{path} was not loaded");
    }
    assert!(tree.runtime_crates().len() >= 3);
}
