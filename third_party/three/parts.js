// What the scenes use of three.js; README.md says how three.min.js is made of it.
export {
    AmbientLight, BoxGeometry, BufferAttribute, BufferGeometry, CircleGeometry, Color, ConeGeometry, CustomBlending, CylinderGeometry, DirectionalLight, DoubleSide, EdgesGeometry, EqualStencilFunc,
    Group, HemisphereLight, IncrementStencilOp, LatheGeometry, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial, MeshPhongMaterial, OneMinusSrcAlphaFactor, OrthographicCamera,
    PerspectiveCamera, PlaneGeometry, RingGeometry, Scene, ShaderMaterial, ShapeUtils, SphereGeometry, TorusGeometry, Vector2, Vector3, WebGLRenderer, ZeroFactor,
} from "three";
export { Line2 } from "three/examples/jsm/lines/Line2.js";
export { LineGeometry } from "three/examples/jsm/lines/LineGeometry.js";
export { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
