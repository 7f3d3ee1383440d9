//! One statement whose rows are encoded already: prepared, and filled by slot.
//! Refuses to know what the rows are.

use super::Wire;
use super::statement::Statement;
use super::traffic::{Package, Traffic};
use crate::endpoint::EndpointError;
use helenus_model::cql::CqlType;

impl Wire {
    /// Prepares one statement, whose rows come as [`Self::package`]s; its markers with their types.
    ///
    /// # Errors
    /// What the server refuses.
    pub(crate) fn prepare_rows(
        &mut self,
        cql: &str,
    ) -> Result<Vec<(String, CqlType)>, EndpointError> {
        let Some(mut opening) = self.opening.take() else {
            return Ok(Vec::new());
        };
        let statement = Statement::prepare(&mut opening.control.0, "load", cql)?;
        let names = statement.markers.iter().cloned();
        let markers = names.zip(statement.types.iter().cloned()).collect();
        self.statements = vec![statement];
        self.traffic = Traffic::Rows(Vec::new());
        self.go(opening);
        Ok(markers)
    }

    /// The rows that a slot sends, for whoever fills it.
    pub(crate) fn package(&mut self, slot: usize) -> Option<&mut Package> {
        match &mut self.traffic {
            Traffic::Rows(packages) => {
                if packages.len() <= slot {
                    packages.resize_with(slot + 1, Package::default);
                }
                packages.get_mut(slot)
            }
            _ => None,
        }
    }
}
