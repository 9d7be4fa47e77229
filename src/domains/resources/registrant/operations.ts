import { BASE_PATH, workspace } from '../../operation.ts';
import { changeRegistrant } from './change-registrant.ts';
import { type RegistrantDependencies, showRegistrant } from './get-registrant.ts';
import { Registrant, RegistrantChange } from './schema.ts';

export function registrantOperations(deps: RegistrantDependencies) {
  return [
    workspace.read({
      id: 'registrant.get',
      method: 'GET',
      path: `${BASE_PATH}/registrant`,
      posture: 'workspace',
      scope: 'read',
      summary: 'Show the registrant',
      description:
        'The person whom the registry is told as the holder of the domains, and what it requires and does not know.',
      reply: Registrant,
      handler: showRegistrant(deps),
    }),
    workspace.change({
      id: 'registrant.change',
      method: 'PATCH',
      path: `${BASE_PATH}/registrant`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Change the registrant',
      description:
        'For domains that are registered from now on; those of before keep the holder that the registry has.',
      body: RegistrantChange,
      example: { contact: { city: 'Berlin', country: 'DE' } },
      reply: Registrant,
      handler: changeRegistrant(deps),
    }),
  ];
}
