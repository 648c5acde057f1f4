import type { DescService } from '@bufbuild/protobuf';
import type { MethodPlan } from '../../contract/method-plan.js';
import { commentOf } from './comment.js';
import type { Schema } from './schema.js';

/** The group that a service's methods are in: `ApiKeyService` is `Api key`. */
export function tagOf(service: DescService): string {
  const words = service.name.replace(/Service$/, '').replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words;
}

/** Every group, in the order of the plans; what a service has over RPC only is told in its words. */
export function tagsOf(plans: readonly MethodPlan[]): readonly Schema[] {
  const services = [...new Set(plans.map(({ method }) => method.parent))];
  return services.map((service) => {
    const rpcOnly = plans.filter(({ method, http }) => method.parent === service && http === null);
    const lines = rpcOnly.map(({ method, rpcPath }) => `Over RPC only, \`${rpcPath}\`: ${commentOf(method)}`);
    return { name: tagOf(service), description: [commentOf(service), ...lines].join('\n\n') };
  });
}
