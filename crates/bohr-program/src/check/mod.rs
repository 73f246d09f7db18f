//! Whether every number in a program leads somewhere. Programs are read from
//! files; after this check, looking something up cannot panic.

mod body;

use crate::attribute::Attributes;
use crate::constant::{ConstantExpression, ConstantValue};
use crate::function::Function;
use crate::ids::*;
use crate::program::Program;
use crate::source_type::SourceType;
use crate::types::Type;
use bohr_event::abi::SiteInfo;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap};
use thiserror::Error;

/// What is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}")]
pub struct Malformed {
    /// The rule that is broken, and where.
    pub what: String,
}

type Checked = Result<(), Malformed>;

/// The rule, unless it holds.
fn hold(holds: bool, rule: impl FnOnce() -> String) -> Checked {
    match holds {
        true => Ok(()),
        false => Err(Malformed { what: rule() }),
    }
}

/// That a number is one of the map's.
fn within<K: EntityRef + std::fmt::Debug, V>(map: &PrimaryMap<K, V>, key: K) -> Checked {
    hold(map.is_valid(key), || {
        format!("{key:?} is not there; there are {}", map.len())
    })
}

fn optional<K, V>(map: &PrimaryMap<K, V>, key: PackedOption<K>) -> Checked
where
    K: EntityRef + std::fmt::Debug + cranelift_entity::packed_option::ReservedValue,
{
    key.expand().map_or(Ok(()), |key| within(map, key))
}

impl Program {
    /// Whether every number leads somewhere, parts come before what is made of
    /// them, and functions and sites are in order.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), Malformed> {
        hold(self.texts.is_sound(), || {
            "texts are cut within a character".into()
        })?;
        self.text(self.target)?;
        self.module_assembly
            .iter()
            .try_for_each(|text| self.text(*text))?;
        self.check_types()?;
        self.check_constants()?;
        self.check_attributes()?;
        self.check_places()?;
        self.check_source_types()?;
        self.check_globals()?;
        for (number, function) in &self.functions {
            self.check_function(number, function)?;
        }
        self.check_sites()
    }

    pub(crate) fn text(&self, text: TextNumber) -> Checked {
        hold(text.index() < self.texts.len(), || {
            format!("{text} is not there")
        })
    }

    fn check_types(&self) -> Checked {
        for (number, of) in &self.types {
            let before = of.parts().iter().all(|part| *part < number);
            hold(before, || format!("{number} is made of a later type"))?;
            match of {
                Type::Struct {
                    name: Some(name), ..
                } => self.text(*name)?,
                Type::OpaqueStruct(name) | Type::Target(name) => self.text(*name)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn check_constants(&self) -> Checked {
        for (number, constant) in &self.constants {
            within(&self.types, constant.of)?;
            let before = constant.value.parts().iter().all(|part| *part < number);
            hold(before, || format!("{number} is made of a later constant"))?;
            self.check_constant(&constant.value)?;
        }
        for assembly in self.assembly.values() {
            self.text(assembly.text)?;
            self.text(assembly.constraints)?;
        }
        Ok(())
    }

    fn check_constant(&self, value: &ConstantValue) -> Checked {
        match value {
            ConstantValue::Global(global) => within(&self.globals, *global),
            ConstantValue::Function(function) => within(&self.functions, *function),
            ConstantValue::Alias(alias) => within(&self.aliases, *alias),
            ConstantValue::Assembly(assembly) => within(&self.assembly, *assembly),
            ConstantValue::Opaque(text) => self.text(*text),
            ConstantValue::Block(function, block) => {
                within(&self.functions, *function)?;
                let body = self.functions[*function].body.as_ref();
                let there = body.is_some_and(|body| body.blocks.is_valid(*block));
                hold(there, || format!("{block} of {function} is not there"))
            }
            ConstantValue::Expression(ConstantExpression::ElementPointer { source, .. }) => {
                within(&self.types, *source)
            }
            _ => Ok(()),
        }
    }

    fn check_attributes(&self) -> Checked {
        let of_attributes = |attributes: &Attributes| {
            std::iter::once(&attributes.result)
                .chain(&attributes.parameters)
                .flat_map(|parameter| [parameter.by_value, parameter.struct_return])
                .flatten()
                .try_for_each(|of| within(&self.types, of))
        };
        self.attributes.values().try_for_each(of_attributes)
    }

    fn check_places(&self) -> Checked {
        for file in self.files.values() {
            self.text(file.path)?;
            self.text(file.directory)?;
        }
        for scope in self.scopes.values() {
            self.text(scope.name)?;
            self.text(scope.linkage_name)?;
            optional(&self.files, scope.file)?;
        }
        for (number, location) in &self.locations {
            within(&self.scopes, location.scope)?;
            let outer = location.inlined_at.expand();
            hold(outer.is_none_or(|outer| outer < number), || {
                format!("{number} is inlined at a later place")
            })?;
        }
        for unit in self.units.values() {
            within(&self.files, unit.file)?;
            self.text(unit.producer)?;
        }
        Ok(())
    }

    fn check_source_types(&self) -> Checked {
        for of in self.source_types.values() {
            match of {
                SourceType::Plain { .. } => {}
                SourceType::Pointer { to, .. } => optional(&self.source_types, *to)?,
                SourceType::Array { element, .. } => within(&self.source_types, *element)?,
                SourceType::Structure { name, fields, .. } => {
                    self.text(*name)?;
                    for field in fields {
                        self.text(field.name)?;
                        within(&self.source_types, field.of)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn check_globals(&self) -> Checked {
        for global in self.globals.values() {
            self.text(global.name)?;
            within(&self.types, global.of)?;
            optional(&self.constants, global.initialiser)?;
        }
        for alias in self.aliases.values() {
            self.text(alias.name)?;
            within(&self.constants, alias.target)?;
        }
        Ok(())
    }

    fn check_function(&self, number: FunctionNumber, function: &Function) -> Checked {
        self.text(function.name)?;
        self.text(function.symbol)?;
        within(&self.types, function.signature)?;
        within(&self.attributes, function.attributes)?;
        optional(&self.functions, function.personality)?;
        optional(&self.units, function.unit)?;
        optional(&self.files, function.file)?;
        let is_function = matches!(self.types[function.signature], Type::Function { .. });
        hold(is_function, || format!("{number} has no function's type"))?;
        if let Some(before) = number.index().checked_sub(1) {
            let before = &self.functions[FunctionNumber::new(before)];
            let sorted = match (&before.body, &function.body) {
                (Some(_), Some(_)) => before.id < function.id,
                (None, Some(_)) => false,
                _ => true,
            };
            hold(sorted, || format!("{number} is not in the order of ids"))?;
        }
        match &function.body {
            Some(body) => body::BodyCheck {
                program: self,
                body,
                parameters: self.parameters(number).len(),
                function: number,
            }
            .check(),
            None => Ok(()),
        }
    }

    fn check_sites(&self) -> Checked {
        let expected = crate::build::first_sites(self);
        hold(self.first_sites == expected, || {
            "the index of sites is wrong".into()
        })?;
        let all = self.sites.as_values_slice();
        let sorted = all.windows(2).all(|pair| {
            (pair[0].function, pair[0].instruction) < (pair[1].function, pair[1].instruction)
        });
        hold(sorted, || "sites are not in order".into())?;
        for (number, site) in &self.sites {
            let body = self
                .functions
                .get(site.function)
                .and_then(|function| function.body.as_ref());
            let there = body.is_some_and(|body| body.instructions.is_valid(site.instruction));
            let info = SiteInfo(site.packed);
            let known = info.kind().is_some() && info.order().is_some();
            hold(there && known, || format!("{number} is no site"))?;
        }
        Ok(())
    }
}
