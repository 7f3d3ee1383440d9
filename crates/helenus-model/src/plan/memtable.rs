//! Memtable configurations that inherit from others, written out.
//! Refuses an order: up to 4.1 a node wants a parent before its heirs, and a sorted file puts `default` first.

use serde_json::{Map, Value};

/// Gives each configuration the class and the parameters that it inherits, in place of the name of its parent.
pub(super) fn resolve(yaml: &mut Map<String, Value>) {
    let all = yaml.get_mut("memtable");
    let all = all.and_then(|memtable| memtable.get_mut("configurations"));
    let Some(Value::Object(all)) = all else {
        return;
    };
    // A round for each generation.
    for _ in 0..all.len() {
        let before = all.clone();
        for one in all.values_mut().filter_map(Value::as_object_mut) {
            let parent = one.get("inherits").and_then(Value::as_str);
            let parent = parent.and_then(|name| before.get(name)?.as_object());
            if let Some(parent) = parent.filter(|parent| !parent.contains_key("inherits")) {
                one.remove("inherits");
                inherit(one, parent);
            }
        }
    }
}

fn inherit(one: &mut Map<String, Value>, parent: &Map<String, Value>) {
    for (key, value) in parent {
        match (one.get_mut(key), value) {
            (None, value) => {
                one.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(own)), Value::Object(theirs)) => {
                let missing: Vec<_> = theirs
                    .iter()
                    .filter(|(k, _)| !own.contains_key(*k))
                    .collect();
                own.extend(missing.into_iter().map(|(k, v)| (k.clone(), v.clone())));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::resolve;
    use crate::yaml;
    use serde_json::Value;

    #[test]
    fn heirs_are_written_out() {
        let text = "memtable: {configurations: {default: {inherits: small}, \
                    small: {inherits: trie, parameters: {shards: \"1\"}}, \
                    trie: {class_name: TrieMemtable, parameters: {shards: \"4\", a: b}}, lost: {inherits: none}}}";
        let Value::Object(mut map) = yaml::parse(text).unwrap() else {
            panic!("a map");
        };
        resolve(&mut map);
        insta::assert_snapshot!(yaml::render(&Value::Object(map)), @r#"
        memtable:
          configurations:
            default:
              class_name: TrieMemtable
              parameters:
                a: b
                shards: "1"
            lost:
              inherits: none
            small:
              class_name: TrieMemtable
              parameters:
                a: b
                shards: "1"
            trie:
              class_name: TrieMemtable
              parameters:
                a: b
                shards: "4"
        "#);
    }
}
