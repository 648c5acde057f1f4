import type { HttpPlan, MethodPlan, Verb } from '../contract/method-plan.js';
import { parsePathTemplate } from './path-template.js';

/** A matched REST route: its method, and the decoded path variables by name. */
export interface RouteMatch {
  readonly kind: 'route';
  readonly plan: MethodPlan;
  readonly params: Readonly<Record<string, string>>;
}

/** The result of matching a verb and a path. `allow` lists the verbs of the path, with HEAD if it has GET. */
export type RestMatch = RouteMatch | { readonly kind: 'wrong_verb'; readonly allow: string[] } | { readonly kind: 'none' };

/** A node in the segment tree of one verb. */
interface Node {
  readonly literals: Map<string, Node>;
  variable: Node | null;
  /** True: every further segment is part of the variable `route`. */
  takesRest: boolean;
  route: { readonly plan: MethodPlan; readonly names: readonly string[] } | null;
}

const none: RestMatch = { kind: 'none' };

/** Callers repeat the paths of their relayers. A caller that sends a new path each time fills no more memory than this. */
const maxRemembered = 1_000;
const maxRememberedLength = 256;

/**
 * Compiles the routes of all plans that have one. Each verb has its own tree, so that a literal segment wins over a variable only if the
 * verb has that literal. Throws if a template is malformed or two methods share a route.
 */
export function compileRoutes(plans: readonly MethodPlan[]): (verb: string, path: string) => RestMatch {
  const trees = new Map<string, Node>();
  for (const plan of plans) {
    if (plan.http === null) continue;
    const verbs: readonly Verb[] = plan.http.passesOn ? [plan.http.verb, 'GET'] : [plan.http.verb];
    for (const verb of verbs) addRoute(treeOf(trees, verb), plan, plan.http);
  }
  const remembered = new Map<string, Map<string, RouteMatch>>([...trees.keys()].map((verb) => [verb, new Map()]));
  return (anyVerb, path) => {
    const verb = anyVerb === 'HEAD' ? 'GET' : anyVerb;
    const known = remembered.get(verb);
    const again = known?.get(path);
    if (again !== undefined) return again;
    const segments = segmentsOf(path);
    if (segments === undefined) return none;
    const tree = trees.get(verb);
    const found = tree && find(tree, segments, 0, []);
    if (found) {
      if (known !== undefined && path.length <= maxRememberedLength) {
        if (known.size === maxRemembered) known.clear();
        known.set(path, found);
      }
      return found;
    }
    const allow = [...trees]
      .filter(([, other]) => find(other, segments, 0, []) !== undefined)
      .flatMap(([name]) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
    return allow.length > 0 ? { kind: 'wrong_verb', allow } : none;
  };
}

function treeOf(trees: Map<string, Node>, verb: Verb): Node {
  const tree = trees.get(verb) ?? newNode();
  trees.set(verb, tree);
  return tree;
}

function newNode(): Node {
  return { literals: new Map(), variable: null, takesRest: false, route: null };
}

function addRoute(tree: Node, plan: MethodPlan, { template, passesOn }: HttpPlan): void {
  let node = tree;
  const names: string[] = [];
  for (const segment of parsePathTemplate(template)) {
    if (segment.kind === 'variable') {
      names.push(segment.name);
      node.variable ??= newNode();
      node = node.variable;
    } else {
      const next = node.literals.get(segment.text) ?? newNode();
      node.literals.set(segment.text, next);
      node = next;
    }
  }
  if (node.route !== null) throw new Error(`${plan.rpcPath} and ${node.route.plan.rpcPath} share the route ${plan.http?.verb} ${template}`);
  node.takesRest = passesOn;
  node.route = { plan, names };
}

/** Tries literals first, then the variable. */
function find(node: Node, segments: readonly string[], at: number, values: readonly string[]): RouteMatch | undefined {
  const segment = segments[at];
  if (segment === undefined || node.takesRest) {
    if (node.route === null) return undefined;
    const params: Record<string, string> = node.takesRest ? { route: segments.slice(at).join('/') } : {};
    node.route.names.forEach((name, index) => {
      params[name] = values[index] ?? '';
    });
    return { kind: 'route', plan: node.route.plan, params };
  }
  const literal = node.literals.get(segment);
  const found = literal && find(literal, segments, at + 1, values);
  return found ?? (node.variable ? find(node.variable, segments, at + 1, [...values, segment]) : undefined);
}

/**
 * Returns the decoded segments without one trailing slash; undefined if one is empty or its percent-encoding is invalid: such a path never
 * exists.
 */
function segmentsOf(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined;
  const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length;
  const segments = path.slice(1, end).split('/');
  if (segments.includes('')) return undefined;
  if (!path.includes('%')) return segments;
  try {
    return segments.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}
