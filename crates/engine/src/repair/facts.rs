//! Repair of the catalog: what can be read of a damaged one, and names of databases from elsewhere.

use super::Repairer;
use crate::audit::Act;
use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::filenames;
use crate::manifest::Manifest;
use crate::namespaces::{self, Namespaces};
use crate::wal::frame::FrameKind;
use crate::wal::reader;
use foliot_model::NamespaceId;
use std::collections::BTreeSet;

/// The policy of a database whose name nobody knows.
const POLICY: &str = "autogen";

/// What a catalog holds, for whoever loses it.
const FACTS: &str = "databases, retention policies, users, continuous queries and kinds of fields";

impl Repairer<'_> {
    /// Writes the catalog anew if it cannot be read, or if parts belong to databases that it has no
    /// name for. Final parts know the names of their databases; one that nobody knows is called
    /// after its number, so that its samples can be read and are not taken for another's.
    pub(super) fn catalog(&mut self, manifest: &mut Manifest) -> Result<(), Error> {
        let (saved, lost) = self.facts(manifest)?;
        let names = Namespaces::load(&self.with_wal(&saved, manifest)?);
        let of_parts = manifest.parts.iter().map(|part| part.namespace);
        let unnamed: BTreeSet<NamespaceId> =
            of_parts.filter(|id| names.name(*id).is_none() && !names.is_dropped(*id)).collect();
        if lost.is_none() && unnamed.is_empty() {
            return Ok(());
        }
        for id in &unnamed {
            let found = self.name_of(*id, manifest)?;
            // A name belongs to whom the catalog gives it: another had it before and was dropped.
            let free = found.filter(|(database, policy)| names.id(database, policy).is_none());
            let done = match free.is_some() {
                true => &mut self.done.mended,
                false => &mut self.done.lost,
            };
            let (database, policy) =
                free.unwrap_or_else(|| (format!("recovered-{id}"), POLICY.to_owned()));
            let (kind, key, bytes) = namespaces::fact(*id, &database, &policy);
            saved.change(kind, &key, Some(&bytes), |_| Ok::<_, Error>(()))?;
            done.push(format!(
                "the database numbered {id} had no name: it is {database} with the policy {policy}"
            ));
        }
        let old = manifest.catalog_file;
        manifest.catalog_file = manifest.next_file;
        manifest.next_file += 1;
        let new = filenames::catalog(self.dir, manifest.catalog_file);
        saved.write(&**self.disk, &new, manifest.catalog_file, manifest.store_id)?;
        self.publish(manifest)?;
        if old != 0 {
            self.set_aside(&filenames::catalog(self.dir, old))?;
        }
        let written = format!("wrote the catalog anew: {}", new.display());
        match lost {
            Some(lost) => self.done.lost.push(format!("{lost}; {written}")),
            None => self.done.mended.push(written),
        }
        Ok(())
    }

    /// The facts of the catalog's file, and a sentence if those are not all of them.
    fn facts(&self, manifest: &Manifest) -> Result<(Catalog, Option<String>), Error> {
        let (number, catalog) = (manifest.catalog_file, Catalog::default());
        if number == 0 {
            return Ok((catalog, None));
        }
        let path = filenames::catalog(self.dir, number);
        let damage = match catalog.read(
            &**self.disk,
            &path,
            number,
            manifest.store_id,
            &Cache::new(0),
        ) {
            Ok(()) => return Ok((catalog, None)),
            Err(error) if !error.is_damage() => return Err(error),
            Err(error) if !self.disk.exists(&path) && !self.may_lose.facts => {
                return Err(Error::Invalid(format!(
                    "{error}; {FACTS} stand in it and nowhere else: put it back, copy it from a \
                     backup of this store, where it has the same name, or say --lose-facts"
                )));
            }
            Err(error) => error,
        };
        if !self.disk.exists(&path) {
            self.audit(None, &Act::LoseFacts(&path))?;
        }
        let saved = Catalog::default();
        let facts = saved.salvage(&**self.disk, &path, number);
        let lost = format!("{damage}: saved {facts} facts; of {FACTS} all others are lost");
        Ok((saved, Some(lost)))
    }

    /// `saved` and what the wal changed since.
    pub(super) fn with_wal(&self, saved: &Catalog, manifest: &Manifest) -> Result<Catalog, Error> {
        let catalog = Catalog::default();
        saved.each(&mut |kind, key, bytes| catalog.change(kind, key, Some(bytes), |_| Ok(())))?;
        let each = &mut |_, kind, body: &[u8]| {
            if kind == FrameKind::Catalog {
                catalog.apply(&mut &*body);
            }
            Ok(())
        };
        let start_lsn = manifest.wal_start_lsn;
        reader::replay(&**self.disk, self.dir, manifest.store_id, start_lsn, each)?;
        Ok(catalog)
    }

    /// Database and policy of a namespace, if one of its final parts tells.
    fn name_of(
        &self,
        id: NamespaceId,
        manifest: &Manifest,
    ) -> Result<Option<(String, String)>, Error> {
        for entry in manifest.parts.iter().filter(|part| part.namespace == id) {
            let named = self.open(*entry, manifest.store_id).and_then(|part| part.database());
            match named {
                Ok(Some(names)) => return Ok(Some(names)),
                Ok(None) => {}
                Err(error) if error.is_damage() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}
