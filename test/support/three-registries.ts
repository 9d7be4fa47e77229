/** Three EPP servers of different habits, the file that an operator writes for them, and a service that has read it. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openRegistry } from '../../src/domains/boot/open-dependencies.ts';
import type { Mailer } from '../../src/domains/mail/index.ts';
import type { ChooseDelivery } from '../../src/domains/registry/epp/index.ts';
import { loadConfig } from '../../src/kernel/config/config.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { openTestDatabase } from './database.ts';
import { startDomains, type TestDomains, type TestWorkspace } from './domains.ts';
import { openTestEpp, PASSWORD, silent, type TestEpp, testTls } from './epp.ts';

export interface ThreeRegistries extends TestDomains {
  readonly file: string;
  /** Renews by itself (`com`), knows no contacts (`net`), has hosts as attributes and hides nothing (`org`). */
  readonly servers: { readonly renewing: TestEpp; readonly thin: TestEpp; readonly attributes: TestEpp };
  /** What becomes of commands at the renewing one from now on; undefined: they are carried out and answered. */
  deliver(choose: ChooseDelivery | undefined): void;
  /** With money, and an address where one is given. */
  owner(contact?: object): Promise<TestWorkspace>;
}

/** `folder` is the caller's, and gets the file and the passwords. */
export async function startThreeRegistries(folder: string, mailer?: Mailer): Promise<ThreeRegistries> {
  const database = await openTestDatabase();
  const { db } = database;
  const fees = { createCents: 900, renewCents: 900, transferCents: 900, restoreCents: 5_000 };
  const only = (served: string) => (zone: string) => (zone === served ? fees : undefined);
  const delays = { createSeconds: 0, renewSeconds: 0 };
  let deliver: ChooseDelivery | undefined;
  const renewing = await openTestEpp(db, {
    ...{ delays, prices: only('com'), autoRenewGraceDays: 45 },
    deliver: (command) => deliver?.(command),
  });
  const { clock } = renewing;
  const thin = await openTestEpp(db, { clock, delays, prices: only('net'), habits: { contacts: 'none' } });
  const attributes = await openTestEpp(db, {
    ...{ clock, delays, prices: only('org') },
    habits: { contacts: 'no_disclose', nameservers: 'hostAttr' },
  });
  const servers = { renewing, thin, attributes };
  const file = join(folder, 'registries.yaml');
  await writeFile(join(folder, 'password'), `${PASSWORD}\n`);
  await writeFile(file, describe(servers));
  const config = loadConfig({ IRONCRAFT_DOMAINS_CONFIG_FILE: file }, folder).domains;
  const environment = { ATTRIBUTES_PASSWORD: PASSWORD };
  const { prices, registry } = await openRegistry(config, { db, clock, logger: silent, environment });
  const service = await startDomains({
    clock,
    registry: () => registry,
    parts: { prices },
    ...(mailer === undefined ? {} : { mailer }),
    sharing: { db, vault: createVault([createSecretKey(randomBytes(32))]) },
    logger: silent,
  });
  return {
    ...service,
    file,
    servers,
    deliver(next) {
      deliver = next;
    },
    async owner(contact) {
      const workspace = await service.createWorkspace();
      await workspace.fund(1_000_000);
      if (contact !== undefined) await workspace.patch('/registrant', { contact });
      return workspace;
    },
    async close() {
      await service.close();
      await Promise.all([renewing, thin, attributes].map((epp) => epp.close()));
      await database.close();
    },
  };
}

function describe({ attributes, renewing, thin }: ThreeRegistries['servers']): string {
  return `
currencies: { USD: 0.9 }
registries:
  - id: renewing
    endpoint: epps://127.0.0.1:${renewing.server.port}
    client_id: ${renewing.ours.registrarId}
    password: { file: password }
    ca_file: ${testTls.certificateFile}
    connections: 2
    auto_renew_grace_days: 45
  - id: thin
    endpoint: epps://127.0.0.1:${thin.server.port}
    client_id: ${thin.ours.registrarId}
    password: { file: password }
    ca_file: ${testTls.certificateFile}
    contacts: none
    fees: false
    check_batch_size: 1
  - id: attributes
    endpoint: epps://127.0.0.1:${attributes.server.port}
    client_id: ${attributes.ours.registrarId}
    password: { env: ATTRIBUTES_PASSWORD }
    ca_file: ${testTls.certificateFile}
    contacts: no_disclose
    hosts: attributes
    extensions: [secDNS, rgp, fee]
tlds:
  - tld: com
    registry: renewing
    prices:
      - cost: { currency: EUR, register: 9, renew: 9, transfer: 9 }
        margin: { percent: 10, add: 1 }
  - tld: net
    registry: thin
    prices:
      - retail: { register: 12, renew: 13, transfer: 12 }
      - from: 2026-06-01
        retail: { register: 14, renew: 15, transfer: 14 }
  - tld: org
    registry: attributes
    prices:
      - cost: { currency: USD, register: 10, renew: 10, transfer: 10 }
    promotions:
      - { from: 2026-03-01, until: 2026-03-15, register: 5 }
`;
}
