//! The table of the Job API: every type and field that the server's OpenAPI shows, with what the
//! hand-written part adds.
//!
//! `data/fields.tsv` is generated from a running server's OpenAPI (`make tables`);
//! `data/meaning.tsv` is written by hand. Both are compiled in: a decision needs no file.

use std::collections::HashMap;
use std::sync::OnceLock;

mod parse;

use parse::Unknown;

/// The generated part: type, field, value, list kind, versions.
const FIELDS: &str = include_str!("data/fields.tsv");
/// The hand-written part: kind, subject, value, source.
const MEANING: &str = include_str!("data/meaning.tsv");

/// The Kubernetes releases whose API this table describes, and that are tested.
pub const VERSIONS: [&str; 4] = ["1.34", "1.35", "1.36", "1.37"];

/// The newest of them.
pub const NEWEST: &str = VERSIONS[VERSIONS.len() - 1];

/// Index of a struct type in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeId(u16);

/// Index of a list or map type in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListId(u16);

/// What a field may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A path the table does not know: compared as it stands.
    Unknown,
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// An integer of 32 or 64 bits.
    Integer,
    /// A quantity; `rounded`: up to milli-units, as in every resource list.
    Quantity {
        /// Whether the server rounds it up to milli-units.
        rounded: bool,
    },
    /// An integer or a string (`targetPort`): never coerced.
    IntOrString,
    /// A struct with known fields.
    Struct(TypeId),
    /// A list.
    List(ListId),
    /// A map from strings to values of one kind.
    Map(ListId),
}

/// A list or a map type.
#[derive(Debug)]
pub struct ListType {
    /// What an item holds.
    pub item: Kind,
    /// The fields that identify an item; empty for a list that is compared in order. `["="]` for
    /// a set of strings, where the value is the key.
    pub keys: Vec<&'static str>,
    /// Whether the order of a keyed list counts all the same.
    pub ordered: bool,
    /// Whether the order counts when any value holds `$(` (`env`).
    pub ordered_by_expansion: bool,
}

/// A struct type.
#[derive(Debug)]
pub struct StructType {
    /// The short name of the Go type.
    pub name: &'static str,
    /// Its fields, sorted by name.
    pub fields: Vec<Field>,
}

/// A field of a struct type.
#[derive(Debug, Clone)]
pub struct Field {
    /// The JSON name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// A pointer in the Go type: its zero is kept and differs from absent.
    pub pointer: bool,
    /// What the server fills in.
    pub default: FieldDefault,
    /// Whether the kubelet expands `$(NAME)` in this string, or in each string of this list.
    pub expands: bool,
    /// JSON that means the same as absent to whoever reads the field, but is stored.
    pub means_absent: Option<serde_json::Value>,
    /// The releases that know the field.
    pub versions: Vec<&'static str>,
    /// Those of them that take it out of every Job, because its feature gate is off by default.
    pub gated: Vec<&'static str>,
    /// Fields of this list's entries that a release takes out here, and keeps elsewhere.
    pub gated_inside: Vec<(&'static str, Vec<&'static str>)>,
}

/// What the server fills in for an absent field.
#[derive(Debug, Clone)]
pub enum FieldDefault {
    /// Nothing.
    None,
    /// Always this.
    Fixed(serde_json::Value),
    /// What a rule over the siblings says.
    Sibling(super::defaults::SiblingRule),
}

/// The whole table.
#[derive(Debug)]
pub struct Api {
    structs: Vec<StructType>,
    lists: Vec<ListType>,
    by_name: HashMap<&'static str, TypeId>,
    server_owned: Vec<&'static str>,
}

impl Api {
    /// The table that is compiled in, read once.
    ///
    /// # Panics
    /// When the compiled-in data is broken; a unit test reads it.
    #[must_use]
    pub fn get() -> &'static Api {
        static API: OnceLock<Api> = OnceLock::new();
        #[expect(clippy::expect_used, reason = "the data is compiled in and a test reads it")]
        API.get_or_init(|| {
            let api = parse::parse(FIELDS, MEANING, Unknown::Refused);
            api.expect("the compiled-in table of the Job API")
        })
    }

    /// The kind of a whole Job.
    #[must_use]
    pub fn job(&self) -> Kind {
        self.by_name.get("Job").map_or(Kind::Unknown, |id| Kind::Struct(*id))
    }

    /// The kind of a whole CronJob.
    #[must_use]
    pub fn cron_job(&self) -> Kind {
        self.by_name.get("CronJob").map_or(Kind::Unknown, |id| Kind::Struct(*id))
    }

    /// A struct type.
    #[must_use]
    pub fn structure(&self, id: TypeId) -> &StructType {
        &self.structs[usize::from(id.0)]
    }

    /// A list or map type.
    #[must_use]
    pub fn list(&self, id: ListId) -> &ListType {
        &self.lists[usize::from(id.0)]
    }

    /// A field of a kind that is a struct which has it.
    #[must_use]
    pub fn field(&self, kind: Kind, name: &str) -> Option<&Field> {
        match kind {
            Kind::Struct(id) => self.structure(id).field(name),
            _ => None,
        }
    }

    /// Whether the server alone writes `key` of `place` (`Job.metadata` and `uid`).
    #[must_use]
    pub fn is_server_owned(&self, place: &str, key: &str) -> bool {
        self.server_owned.iter().any(|owned| {
            owned.strip_prefix(place).and_then(|rest| rest.strip_prefix('.')) == Some(key)
        })
    }

    /// The table of a server that says itself which fields it has, in the form of `fields.tsv`;
    /// what is known about them beside that is added.
    ///
    /// # Errors
    /// What of the text cannot be read.
    pub fn of_server(fields: &'static str) -> Result<Api, String> {
        parse::parse(fields, MEANING, Unknown::PassedOver)
    }

    /// The compiled-in table as it would be without the default of one field: what a server knows
    /// better that is newer than this program.
    ///
    /// # Errors
    /// A field that does not exist or has no default.
    pub fn without_default(owner: &str, name: &str) -> Result<Api, String> {
        let mut api = parse::parse(FIELDS, MEANING, Unknown::Refused)?;
        let id = *api.by_name.get(owner).ok_or_else(|| format!("no type `{owner}`"))?;
        let fields = &mut api.structs[usize::from(id.0)].fields;
        let field = fields.iter_mut().find(|f| f.name == name);
        let field = field.ok_or_else(|| format!("no field `{owner}.{name}`"))?;
        if matches!(field.default, FieldDefault::None) {
            return Err(format!("`{owner}.{name}` has no default"));
        }
        field.default = FieldDefault::None;
        Ok(api)
    }
}

impl Field {
    /// The tested releases in which no Job has this field: they do not know it, or take it out.
    pub fn dropped_by(&self) -> impl Iterator<Item = &'static str> {
        VERSIONS.into_iter().filter(|v| !self.versions.contains(v) || self.gated.contains(v))
    }
}

impl StructType {
    /// The field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.binary_search_by(|f| f.name.cmp(name)).ok().map(|i| &self.fields[i])
    }
}

impl ListType {
    /// Whether items are told apart by a key.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        !self.keys.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiled_in_table_can_be_read() {
        let api = parse::parse(FIELDS, MEANING, Unknown::Refused).expect("reads");
        let Kind::Struct(job) = api.job() else { panic!("a Job is a struct") };
        let spec = api.structure(job).field("spec").expect("spec");
        assert!(api.field(spec.kind, "backoffLimit").expect("backoffLimit").pointer);
        let template = api.field(spec.kind, "template").expect("template").kind;
        let pod = api.field(template, "spec").expect("pod spec").kind;
        let Kind::List(containers) = api.field(pod, "containers").expect("containers").kind else {
            panic!("containers is a list")
        };
        assert_eq!(api.list(containers).keys, ["name"]);
        assert!(api.list(containers).ordered);
        assert!(api.is_server_owned("Job.metadata", "uid"));
    }

    #[test]
    fn a_row_about_a_field_that_is_not_there_is_an_error() {
        assert!(
            parse::parse(FIELDS, "pointer\tJobSpec.paralelism\t-\tx\n", Unknown::Refused).is_err()
        );
        assert!(
            parse::parse(FIELDS, "pointer\tJobSpec.parallelism\t-\n", Unknown::Refused).is_err()
        );
        assert!(
            parse::parse(FIELDS, "default\tJobSpec.suspend\tno\tx\n", Unknown::Refused).is_err()
        );
    }
}
