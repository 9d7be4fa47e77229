import type { ZonePublisher } from '../../src/domains/dns/publisher.ts';

/** Takes every zone: one that it did not take would be sent again by each process that starts. */
export const takingPublisher: ZonePublisher = {
  kind: 'embedded',
  supportsDnssec: false,
  publish: async () => undefined,
  remove: async () => undefined,
  sign: async () => [],
  unsign: async () => undefined,
  addKey: async () => [],
  retireKeys: async () => undefined,
  start: async () => undefined,
  stop: async () => undefined,
};
