/** Hosted zones: their rows, what they serve, and how that reaches the nameservers. */
export { changeRecords, type RecordChange, updateRecord } from './change-records.ts';
export { addRecord, type NamedRecord, removeRecord } from './change-zone.ts';
export { importZone } from './import-zone.ts';
export { badRecord } from './records/bad-record.ts';
export { isRecordType, recordTypes } from './records/record-kinds.ts';
export { absoluteName, ownRecordSets, servedRecords } from './zone-content.ts';
export { writeZoneFile } from './zone-file/write-zone-file.ts';
export { createZoneReconciler, type ZoneReconciler } from './zone-reconciler.ts';
export {
  closeDueZones,
  closeZone,
  closeZoneLater,
  followDelegation,
  keepZoneOpen,
  openZone,
  type StoredAlias,
  type StoredRecord,
  type ZoneRef,
} from './zone-store.ts';
