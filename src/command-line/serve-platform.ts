/** The agent platform as a service of the process. */
import { join } from 'node:path';
import { createFolderBlobStore } from '../kernel/blobs/folder-blob-store.ts';
import { systemClock } from '../kernel/clock/clock.ts';
import { createPlatform } from '../platform/app.ts';
import { credentialsPath } from '../platform/boot/credentials-file.ts';
import { bootFirst } from '../platform/boot/first-boot.ts';
import { operatePlatform } from '../platform/operator/index.ts';
import { proveVault } from './open-store.ts';
import type { ServedService, ServerDependencies } from './served-service.ts';
import { renderWelcome } from './welcome.ts';

export async function servePlatform(parts: ServerDependencies): Promise<ServedService> {
  const { config, db, publicUrl, vault } = parts;
  const blobs = createFolderBlobStore(join(config.dataDir, 'files'));
  const platform = await createPlatform({ ...parts, privateFolders: [config.dataDir], blobs, clock: systemClock });
  const boot = await bootFirst({ db, issuer: platform.issuer, dataDir: config.dataDir, baseUrl: publicUrl });
  // Another replica may have set the database up since the vault was opened.
  await proveVault(db, vault);
  return {
    app: platform.app,
    checks: { files: () => blobs.check() },
    operated: operatePlatform({ db, issuer: platform.issuer }),
    // First, so that no turn is started by a replica that is not registered.
    start: () => platform.start(),
    drain: (timeoutMs) => platform.drain(timeoutMs),
    stop: () => platform.stop(),
    welcome: (localUrl) =>
      renderWelcome({ publicUrl, localUrl, credentialsPath: credentialsPath(config.dataDir), boot }),
  };
}
