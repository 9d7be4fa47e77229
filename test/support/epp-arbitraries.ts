/** Commands and answers of EPP at random, such as the standards allow. */
import fc from 'fast-check';
import type { EppCommand } from '../../src/domains/registry/epp/commands/command.ts';
import type { ContactData } from '../../src/domains/registry/epp/commands/contact.ts';
import type { DomainData } from '../../src/domains/registry/epp/commands/domain-results.ts';
import { splitQuestion } from '../../src/domains/registry/epp/commands/fee.ts';
import type { HostData } from '../../src/domains/registry/epp/commands/host.ts';
import { FEE_URIS, FRNIC_URIS, IDN, IDN_LANG } from '../../src/domains/registry/epp/namespaces.ts';

export const token = fc.stringMatching(/^[A-Za-z0-9&<>"'é]{1,12}$/);
export const name = fc.stringMatching(/^[a-z0-9]{1,10}\.(com|co\.uk)$/);
export const id = fc.stringMatching(/^[A-Z0-9]{3,16}$/);
const password = fc.stringMatching(/^[!-~]{6,16}$/);
const years = fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined });
export const time = fc
  .date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());
export const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined });
export const some = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.array(arbitrary, { minLength: 1, maxLength: 3 });
const few = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.array(arbitrary, { maxLength: 3 });

const ds = fc.record({
  keyTag: fc.integer({ min: 0, max: 65_535 }),
  algorithm: fc.integer({ min: 0, max: 255 }),
  digestType: fc.integer({ min: 0, max: 255 }),
  digest: fc.stringMatching(/^([0-9A-F]{2}){1,16}$/),
});
const feeUri = fc.constantFrom(...FEE_URIS);
const fee = fc.record({
  uri: feeUri,
  currency: fc.constant('EUR'),
  amountCents: fc.integer({ min: 0, max: 10_000_000 }),
});
const nameservers = fc.record({ model: fc.constantFrom('hostObj' as const, 'hostAttr' as const), names: some(name) });
const reference = fc.record({ type: fc.constantFrom('admin' as const, 'billing' as const, 'tech' as const), id });
const status = fc.constantFrom('clientHold', 'clientUpdateProhibited');
const items = fc
  .record({ nameservers: maybe(nameservers), contacts: few(reference), statuses: some(status) })
  .map((value) => value);
const postal = fc.record({
  type: fc.constantFrom('int' as const, 'loc' as const),
  name: token,
  organization: maybe(token),
  street: few(token),
  city: token,
  region: maybe(token),
  postalCode: maybe(token),
  country: fc.constant('DE'),
});
const details = {
  postalInfo: some(postal),
  voice: maybe(token),
  fax: maybe(token),
  email: token,
  authInfo: maybe(password),
  disclose: maybe(fc.boolean()),
};
const addresses = few(fc.oneof(fc.ipV4(), fc.ipV6()));
const hostItems = fc.record({ addresses: some(fc.ipV4()), statuses: few(status) });
const feeCommand = fc.record({
  name: fc.constantFrom('create' as const, 'renew' as const, 'transfer' as const),
  years: fc.integer({ min: 1, max: 10 }),
});
/** One question, as it is sent: some versions ask for one command at a time. */
const feeQuestion = fc
  .record({
    uri: feeUri,
    currency: fc.constant('EUR'),
    commands: fc.uniqueArray(feeCommand, {
      minLength: 1,
      maxLength: 3,
      comparator: (one, other) => one.name === other.name && one.years === other.years,
    }),
  })
  .map((question) => splitQuestion(question)[0]);
const restore = fc.oneof(
  fc.constant({ operation: 'request' as const }),
  fc.record({
    operation: fc.constant('report' as const),
    report: fc.record({
      before: token,
      after: token,
      deletedAt: time,
      restoredAt: time,
      reason: token,
      statements: fc.array(token, { minLength: 2, maxLength: 2 }),
    }),
  }),
);
const kind = <Kind extends string>(value: Kind) => fc.constant(value);

export const commands: { readonly [Kind in EppCommand['kind']]: fc.Arbitrary<Extract<EppCommand, { kind: Kind }>> } = {
  login: fc.record({
    kind: kind('login'),
    clientId: id,
    password: token,
    newPassword: maybe(token),
    version: fc.constant('1.0'),
    language: fc.constant('en'),
    objectUris: some(token),
    extensionUris: few(token),
  }),
  logout: fc.record({ kind: kind('logout') }),
  poll: fc.oneof(
    fc.record({ kind: kind('poll'), operation: kind('req') }),
    fc.record({ kind: kind('poll'), operation: kind('ack'), messageId: token }),
  ),
  'domain:check': fc.record({ kind: kind('domain:check'), names: some(name), fees: maybe(feeQuestion) }),
  'domain:info': fc.record({ kind: kind('domain:info'), name, authInfo: maybe(password), subProduct: maybe(token) }),
  'domain:create': fc.record({
    kind: kind('domain:create'),
    name,
    years,
    nameservers: maybe(nameservers),
    registrant: maybe(id),
    contacts: few(reference),
    authInfo: maybe(password),
    dsRecords: few(ds),
    fee: maybe(fee),
    idn: maybe(
      fc.oneof(
        fc.record({ uri: fc.constant(IDN), table: token, unicodeName: maybe(token) }),
        fc.record({ uri: fc.constant(IDN_LANG), table: token }),
      ),
    ),
  }),
  'domain:renew': fc.record({
    kind: kind('domain:renew'),
    name,
    currentExpiryDate: time.map((value) => value.slice(0, 10)),
    years,
    fee: maybe(fee),
  }),
  'domain:transfer': fc.record({
    kind: kind('domain:transfer'),
    operation: fc.constantFrom('query', 'request', 'approve', 'reject', 'cancel'),
    name,
    years,
    authInfo: maybe(password),
    fee: maybe(fee),
  }),
  'domain:trade': fc.oneof(
    fc.record({ kind: kind('domain:trade'), operation: kind('query'), uri: fc.constantFrom(...FRNIC_URIS), name }),
    fc.record({
      kind: kind('domain:trade'),
      operation: kind('request'),
      uri: fc.constantFrom(...FRNIC_URIS),
      name,
      registrant: id,
      contacts: few(reference),
      keepsKeys: fc.boolean(),
    }),
  ),
  'domain:update': fc.record({
    kind: kind('domain:update'),
    name,
    add: maybe(items),
    remove: maybe(items),
    registrant: maybe(id),
    authInfo: maybe(password),
    ds: maybe(
      fc.oneof(
        fc.record({ by: kind('dsData'), remove: some(ds), add: some(ds) }),
        fc.record({ by: kind('dsData'), removeAll: fc.constant(true as const), add: some(ds) }),
      ),
    ),
    restore: maybe(restore),
    fee: maybe(fee),
  }),
  'domain:delete': fc.record({ kind: kind('domain:delete'), name }),
  'contact:check': fc.record({ kind: kind('contact:check'), ids: some(id) }),
  'contact:info': fc.record({ kind: kind('contact:info'), id, authInfo: maybe(password) }),
  'contact:create': fc.record({ kind: kind('contact:create'), id, ...details }),
  'contact:update': fc.record({
    kind: kind('contact:update'),
    id,
    ...details,
    postalInfo: few(postal),
    addStatuses: few(status),
    removeStatuses: few(status),
  }),
  'contact:delete': fc.record({ kind: kind('contact:delete'), id }),
  'host:check': fc.record({ kind: kind('host:check'), names: some(name) }),
  'host:info': fc.record({ kind: kind('host:info'), name }),
  'host:create': fc.record({ kind: kind('host:create'), name, addresses }),
  'host:update': fc.record({
    kind: kind('host:update'),
    name,
    add: maybe(hostItems),
    remove: maybe(hostItems),
    newName: maybe(name),
  }),
  'host:delete': fc.record({ kind: kind('host:delete'), name }),
  'balance:info': fc.record({ kind: kind('balance:info') }),
};

export const domainData: fc.Arbitrary<DomainData> = fc.record({
  name,
  roid: id,
  statuses: few(status),
  registrant: maybe(id),
  contacts: few(reference),
  nameservers: maybe(nameservers),
  subordinateHosts: few(name),
  sponsor: id,
  createdBy: maybe(id),
  createdAt: maybe(time),
  updatedBy: maybe(id),
  updatedAt: maybe(time),
  expiresAt: maybe(time),
  transferredAt: maybe(time),
  authInfo: maybe(password),
});
const stamps = {
  sponsor: id,
  createdBy: maybe(id),
  createdAt: maybe(time),
  updatedBy: maybe(id),
  updatedAt: maybe(time),
};
export const contactData: fc.Arbitrary<ContactData> = fc.record({
  ...details,
  id,
  roid: id,
  statuses: few(status),
  ...stamps,
});
export const hostData: fc.Arbitrary<HostData> = fc.record({
  name,
  roid: id,
  statuses: few(status),
  addresses,
  ...stamps,
});
