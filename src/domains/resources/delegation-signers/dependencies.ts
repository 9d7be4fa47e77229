import type { SettingsDependencies } from '../settings/index.ts';

/** What DS records are read and changed with. */
export type SignerDependencies = Pick<
  SettingsDependencies,
  'db' | 'clock' | 'registry' | 'answers' | 'background' | 'nameservers'
>;
