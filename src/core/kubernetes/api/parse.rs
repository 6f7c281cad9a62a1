//! Reading the two parts of the table.

use std::collections::HashMap;

use super::{Api, Field, FieldDefault, Kind, ListId, ListType, StructType, TypeId};

/// What becomes of a row about a field that the first part does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It is a mistake.
    Refused,
    /// It is of another release.
    PassedOver,
}

/// Reads both parts.
pub(super) fn parse(
    fields: &'static str,
    meaning: &'static str,
    unknown: Unknown,
) -> Result<Api, String> {
    let mut api =
        Api { structs: vec![], lists: vec![], by_name: HashMap::new(), server_owned: vec![] };
    let rows: Vec<Vec<&str>> = rows(fields).collect();
    for row in &rows {
        let [name, ..] = row[..] else { continue };
        if !api.by_name.contains_key(name) {
            let id = u16::try_from(api.structs.len()).map_err(|_| "too many types")?;
            api.by_name.insert(name, TypeId(id));
            api.structs.push(StructType { name, fields: vec![] });
        }
    }
    for row in &rows {
        let [owner, name, value, list, versions] = row[..] else {
            return Err(format!("a row of five columns, not {row:?}"));
        };
        let kind = api.kind(value, list)?;
        let id = api.by_name[owner];
        let fields = &mut api.structs[usize::from(id.0)].fields;
        let versions: Vec<&str> = versions.split(',').collect();
        match fields.iter_mut().find(|field| field.name == name) {
            // A field that changed its type between releases is what it is now; rows of one field
            // are in the order of their columns, so ask which is newer.
            Some(field) => {
                if field.versions.last() < versions.last() {
                    field.kind = kind;
                }
                field.versions.extend(versions);
                field.versions.sort_unstable();
            }
            None => fields.push(Field {
                name,
                kind,
                pointer: false,
                default: FieldDefault::None,
                expands: false,
                means_absent: None,
                versions,
                gated: vec![],
                gated_inside: vec![],
            }),
        }
    }
    for structure in &mut api.structs {
        structure.fields.sort_by_key(|f| f.name);
    }
    for row in rows_of_meaning(meaning) {
        let [kind, subject, value] = row?;
        if kind == "server-owned" {
            api.server_owned.push(subject);
            continue;
        }
        let (owner, name) = subject.split_once('.').ok_or("a subject is Type.field")?;
        if !api.has(owner, name) {
            match unknown {
                Unknown::PassedOver => continue,
                Unknown::Refused => return Err(format!("no field `{subject}`")),
            }
        }
        api.add_meaning(kind, owner, name, value)?;
    }
    api.without_defaults_in_cron_jobs()?;
    Ok(api)
}

impl Api {
    fn kind(&mut self, value: &'static str, list: &'static str) -> Result<Kind, String> {
        if let Some(item) = value.strip_prefix('[').and_then(|v| v.strip_suffix(']')) {
            let item = self.kind(item, "-")?;
            let keys = match list.split_once(':') {
                Some(("map", keys)) => keys.split(',').collect(),
                _ => vec![],
            };
            return Ok(Kind::List(self.add_list(item, keys)?));
        }
        if let Some(item) = value.strip_prefix('{').and_then(|v| v.strip_suffix('}')) {
            let item = self.kind(item, "-")?;
            return Ok(Kind::Map(self.add_list(item, vec![])?));
        }
        Ok(match value {
            "string" | "time" | "bytes" => Kind::String,
            "boolean" => Kind::Boolean,
            "integer" => Kind::Integer,
            "quantity" => Kind::Quantity { rounded: true },
            "int-or-string" => Kind::IntOrString,
            "any" | "number" => Kind::Unknown,
            name => {
                Kind::Struct(*self.by_name.get(name).ok_or_else(|| format!("no type `{name}`"))?)
            }
        })
    }

    fn add_list(&mut self, item: Kind, keys: Vec<&'static str>) -> Result<ListId, String> {
        let id = u16::try_from(self.lists.len()).map_err(|_| "too many lists")?;
        self.lists.push(ListType { item, keys, ordered: false, ordered_by_expansion: false });
        Ok(ListId(id))
    }

    /// The server fills the defaults of a Job's spec into no CronJob's `jobTemplate`: there the spec
    /// is of a type of its own. Source: `SetDefaults_Job` and `SetDefaults_CronJob` in
    /// `pkg/apis/batch/v1/defaults.go`.
    fn without_defaults_in_cron_jobs(&mut self) -> Result<(), String> {
        let (Some(spec), Some(holder)) =
            (self.by_name.get("JobSpec"), self.by_name.get("JobTemplateSpec"))
        else {
            return Ok(());
        };
        let (spec, holder) = (*spec, *holder);
        let fields = self.structure(spec).fields.iter();
        let fields = fields.map(|field| Field { default: FieldDefault::None, ..field.clone() });
        let alike = StructType { name: self.structure(spec).name, fields: fields.collect() };
        let id = TypeId(u16::try_from(self.structs.len()).map_err(|_| "too many types")?);
        self.structs.push(alike);
        let fields = self.structs[usize::from(holder.0)].fields.iter_mut();
        for field in fields.filter(|field| field.kind == Kind::Struct(spec)) {
            field.kind = Kind::Struct(id);
        }
        Ok(())
    }

    fn has(&self, owner: &str, name: &str) -> bool {
        self.by_name.get(owner).is_some_and(|id| self.structure(*id).field(name).is_some())
    }

    /// Adds a row about a field that is there.
    fn add_meaning(
        &mut self,
        kind: &str,
        owner: &str,
        name: &str,
        value: &'static str,
    ) -> Result<(), String> {
        let subject = format!("{owner}.{name}");
        let id = *self.by_name.get(owner).ok_or_else(|| format!("no type `{owner}`"))?;
        let lists = &mut self.lists;
        let structure = &mut self.structs[usize::from(id.0)];
        let field = structure.fields.iter_mut().find(|f| f.name == name);
        let field = field.ok_or_else(|| format!("no field `{subject}`"))?;
        let json = || serde_json::from_str(value).map_err(|e| format!("`{subject}`: {e}"));
        let list = match field.kind {
            Kind::List(id) => Some(&mut lists[usize::from(id.0)]),
            _ => None,
        };
        match kind {
            "pointer" => field.pointer = true,
            "default" => field.default = FieldDefault::Fixed(json()?),
            "sibling" => field.default = FieldDefault::Sibling(value.parse()?),
            "exact" => field.kind = Kind::Quantity { rounded: false },
            "means" => field.means_absent = Some(json()?),
            "expands" => field.expands = true,
            "gated" => field.gated = value.split(',').collect(),
            "gated-inside" => {
                let (inside, versions) = value.split_once(' ').ok_or("a field and releases")?;
                field.gated_inside.push((inside, versions.split(',').collect()));
            }
            "keys" | "ordered" => {
                let list = list.ok_or_else(|| format!("`{subject}` is no list"))?;
                if kind == "keys" {
                    list.keys = value.split(',').collect();
                    list.ordered_by_expansion = subject == "Container.env";
                } else {
                    list.ordered = true;
                }
            }
            other => return Err(format!("no kind of row `{other}`")),
        }
        Ok(())
    }
}

fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(|l| l.split('\t').collect())
}

fn rows_of_meaning(text: &'static str) -> impl Iterator<Item = Result<[&'static str; 3], String>> {
    rows(text).map(|row| match row[..] {
        [kind, subject, value, source] if !source.is_empty() => Ok([kind, subject, value]),
        _ => Err(format!("a row of kind, subject, value and source, not {row:?}")),
    })
}
