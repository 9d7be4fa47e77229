/** The chapters of the reference at /docs, by task: an account, a name that is free, its registration, its records. */
import type { Topic } from '../kernel/http/reference-topics.ts';

export const referenceTopics: readonly Topic[] = [
  { name: 'Accounts', description: 'A workspace and its first token. Start here.', prefixes: ['accounts'] },
  {
    name: 'Wallet',
    description: 'Beyond the contract of the service: money, and what it was spent on.',
    prefixes: ['wallet', 'top_ups', 'auto_top_up', 'payment_events', 'receipts', 'orders'],
  },
  {
    name: 'Tokens',
    description: 'Beyond the contract of the service: who may call.',
    prefixes: ['tokens', 'sign_ins'],
  },
  {
    name: 'Events and webhooks',
    description: 'Beyond the contract of the service: what happened, to be read back and sent to an address of yours.',
    prefixes: ['events', 'webhooks'],
  },
  {
    name: 'Transfers out',
    description: 'Names that other registrars ask for.',
    prefixes: ['transfers_out'],
  },
  {
    name: 'Registrant',
    description: 'Who holds the names that are registered, and whether the e-mail address is confirmed.',
    prefixes: ['registrant'],
  },
  {
    name: 'Search',
    description: 'Which names are free, and what they cost.',
    prefixes: ['availability', 'suggestions', 'tlds'],
  },
  {
    name: 'Domains',
    description: 'Register, renew, transfer and manage names.',
    prefixes: ['domains', 'settings', 'auth_codes'],
  },
  {
    name: 'Trademark claims',
    description: 'Beyond the contract of the service: notices that have to be accepted while a TLD is being launched.',
    prefixes: ['claims_notices'],
  },
  {
    name: 'RDAP',
    description: 'Registration data of the names that are with this registrar (RFC 9083).',
    prefixes: ['rdap'],
  },
  { name: 'DNS', description: 'The records of a name’s zone.', prefixes: ['zones'] },
  {
    name: 'DNS, further',
    description:
      'Beyond the contract of the service: records in place, several and whole zones at once, DS records of zones that are signed elsewhere, and nameservers below a name.',
    prefixes: ['zone_records', 'zone_files', 'delegation_signers', 'glue'],
  },
];
