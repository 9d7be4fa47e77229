/** Hosted zones: their rows, what they serve, and how that reaches whoever answers queries. */
export type { RecordSet, ZoneContent, ZonePublisher } from './publisher.ts';
export { zoneContent } from './zone-content.ts';
export { createZoneKeeper, type ZoneKeeper, type ZoneKeeperOptions } from './zone-keeper.ts';
export { closeZone, findZone, openZone, type ZoneRef, type ZoneRow, zoneChanged } from './zone-store.ts';
